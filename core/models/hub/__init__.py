"""The model hub: its client, its lists, ranges of its files, what its errors mean."""
