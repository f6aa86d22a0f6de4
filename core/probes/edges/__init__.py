"""Edge probes: parts of speech, dependency labels and head distances by layer."""

PURPOSE = "tags, labels and heads by layer: accuracy, code length, control labels"
