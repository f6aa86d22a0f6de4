"""`python -m tests.golden`: write the golden results anew, and name what changed."""

from __future__ import annotations

from tests.golden.collected import changes, digests, write

if __name__ == "__main__":
    new = digests()
    print("\n".join(changes(new)) or "no golden result changed")
    write(new)
