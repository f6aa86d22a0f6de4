"""What a fine-tune says now: lenses on its states, and on their difference from the base's."""
