"""What two language models predict at the same place in a text, and how much it differs."""

PURPOSE = "how much the predictions of language models differ, by word, in bits"
