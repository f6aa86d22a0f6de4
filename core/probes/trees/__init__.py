"""The structural-probe study: which layers hold trees."""

PURPOSE = "whether syntax is in the vectors: structural probes by layer, predicted trees"
