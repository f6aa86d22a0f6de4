"""`python -m tests.golden` writes the golden results of stored outputs anew, and names what changed.

With a file's path it computes every study instead: see `tests.golden.computed`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden import collected, computed

if __name__ == "__main__":
    if len(sys.argv) > 1:
        different = list(computed.compare(Path(sys.argv[1])))
    else:
        new = collected.digests()
        different = collected.changes(new)
        collected.write(new)
    print("\n".join(different) or "no golden result changed")
