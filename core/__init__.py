"""What Palimpsest computes: models in, tables and figures out. Nothing here knows of the app."""

__version__ = "0.5.0"
