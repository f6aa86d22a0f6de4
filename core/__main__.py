"""`python -m core`: see core/cli.py."""

import sys

from core.cli import main
from core.cores import share_cores

share_cores()
sys.exit(main())
