"""The protocol published with BERT-INN, beside ours."""

PURPOSE = "the protocol of the code released with BERT-INN, beside ours"
