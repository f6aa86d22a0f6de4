"""Lower layers of one model, upper layers and head of another."""

PURPOSE = "lower layers of one model, upper layers and head of another"
