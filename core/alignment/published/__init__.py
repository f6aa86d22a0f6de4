"""The protocol published with BERT-INN, beside ours."""
