"""How many sentences probes and maps need: half-widths of their intervals, and the scores.

    python -m benchmarks.rows > benchmarks/rows.md

By the rule of the defaults, more rows are read as long as they narrow the interval by more than a
tenth. Included models, no controls (which have as many rows); half-widths are means over the
layers of all models.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.catalogue import STUDIES
from core.runs.store import Store

SENTENCES = {"probe": (200, 400, 800, 1_200), "align": (62, 125, 250, 500)}
VALUES: dict[str, dict[str, Any]] = {
    "probe": {"controls": 0, "untrained": False},
    "align": {"methods": ("kernel", "static-window", "state-and-window"), "grid": ""},
}
# what is read of a result: a table, the columns that are given, and the value
READ: dict[str, tuple[tuple[str, str, dict[str, str], str], ...]] = {
    "probe": (
        ("UUAS, %", "scores", {"metric": "uuas", "probe": "distance"}, "value"),
        ("margin to rivals, points", "margins", {"metric": "uuas"}, "margin"),
    ),
    "align": (
        (
            "variance left by kernel ridge",
            "layers",
            {"method": "kernel", "words": "unseen"},
            "nmse",
        ),
        ("gain over the static window", "gains", {"words": "unseen"}, "difference"),
    ),
}


def rows(study: str, store: Store) -> Iterator[str]:
    """The table's lines of one study."""
    before: dict[str, float] = {}
    for sentences in SENTENCES[study]:
        spec = STUDIES[study].Spec(sentences=sentences, **VALUES[study])
        result = STUDIES[study].run(spec, store=store)
        for name, table, given, value in READ[study]:
            told = result.tables[table]
            for column, wanted in given.items():
                told = told[told[column] == wanted] if column in told else told
            half = float(((told["high"] - told["low"]) / 2).mean())
            narrower = f"{1 - half / before[name]:.0%}" if name in before else ""
            before[name] = half
            mean = float(told[value].mean())
            yield f"| `{study}` | {sentences:,} | {name} | {mean:.3g} | {half:.3g} | {narrower} |"


def main() -> None:
    """Print the table."""
    print(
        "| study | sentences | what | mean | half-width | narrower by |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(prefix="palimpsest-rows-") as folder:
        store = Store(Path(folder))
        for study in SENTENCES:
            for line in rows(study, store):
                print(line, flush=True)


if __name__ == "__main__":
    main()
