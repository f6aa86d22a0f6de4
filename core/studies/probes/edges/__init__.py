"""Edge probes: parts of speech, dependency labels and head distances by layer."""
