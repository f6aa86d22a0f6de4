"""What Palimpsest computes: models in, tables and figures out. Nothing here knows of the app."""

import os

# Libraries read these when they are imported: nobody's use is reported, and tokenizers start no
# thread for each core beside those of the two tasks that run at once.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

__version__ = "1.0.0"
