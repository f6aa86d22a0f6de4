"""Marks, axes, panels and files of charts, shared by all studies."""
