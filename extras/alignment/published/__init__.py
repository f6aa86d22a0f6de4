"""The protocol published with BERT-INN, compared with this app's."""
