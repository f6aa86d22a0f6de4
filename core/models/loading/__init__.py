"""The loaded model: made, held in memory, run whole or layer by layer."""
