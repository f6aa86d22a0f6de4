"""The polar probe: which layers encode the labels and directions of dependency edges."""

PURPOSE = "how well distances and directions after a linear map predict labelled trees"
