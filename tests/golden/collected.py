"""Golden results of the stored outputs: no task is computed, so they are the same on all machines.

The precomputed results hold the outputs of every study at its defaults and of the examples; a
study collects its tables, sentences and figures from them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.catalogue import STUDIES
from tests.core.shipped import walked
from tests.golden.digest import differences, digest

FILE = Path(__file__).parent / "collected.json"


def digests() -> dict[str, Any]:
    """Digest each precomputed result of a study, by the name of its request."""
    results = walked().results.items()
    return {
        name: digest(result) for name, result in results if getattr(result, "study", "") in STUDIES
    }


def changes(new: dict[str, Any]) -> list[str]:
    """Name the places where digests differ from those that were written down."""
    old = json.loads(FILE.read_text(encoding="utf8")) if FILE.is_file() else {}
    return list(differences(old, json.loads(json.dumps(new))))


def write(new: dict[str, Any]) -> None:
    """Write digests down."""
    text = json.dumps(new, indent=1, ensure_ascii=False, sort_keys=True)
    FILE.write_text(text + "\n", encoding="utf8")
