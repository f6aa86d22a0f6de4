"""Layer swap: a fine-tune with one layer reverted to the base's."""

PURPOSE = "whether a task needs a layer: each layer of a fine-tune reverted to the base's"
