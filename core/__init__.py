"""What Palimpsest computes: models in, tables and figures out. Nothing here knows of the app."""

import os
from pathlib import Path

# Libraries read these when they are imported: nobody's use is reported, and tokenizers start no
# thread for each core beside those of the two tasks that run at once.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

__version__ = "1.0.0"

# How the command is called: by its name where pip has put it (deploy/installed), as a module here.
INSTALLED = (Path(__file__).parents[1] / "__main__.py").is_file()
DISTRIBUTION = "palimpsest-transformers"  # the package index has another `palimpsest`
COMMAND = "palimpsest" if INSTALLED else "python -m core"
