"""`python -m core`: see core/commands/main.py."""

import sys

from core.commands.main import main
from core.runs.cores import share_cores

share_cores()
sys.exit(main())
