"""The token map: words of a passage through the layers."""

PURPOSE = "the words of a question and its passage through the layers, in two dimensions"
