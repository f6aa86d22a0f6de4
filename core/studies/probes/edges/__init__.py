"""Edge probes: parts of speech, dependency labels and head distances by layer."""

PURPOSE = "how well linear probes predict tags, labels and head distances from each layer"
