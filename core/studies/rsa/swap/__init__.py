"""Layer swap: a fine-tune with one layer reverted to the base's."""
