"""The protocol published with BERT-INN, compared with this app's."""

PURPOSE = "which findings of the published BERT-INN code hold with another protocol"
