"""What a model's folder holds, read and checked without running any of it."""
