"""The polar probe: which layers encode the labels and directions of dependency edges."""
