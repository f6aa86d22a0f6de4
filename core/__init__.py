"""What Palimpsest computes: models in, tables and figures out. Nothing here knows of the app."""

__version__ = "1.0.0"
