"""Marks, axes, panels and files of charts, the same in all rooms."""
