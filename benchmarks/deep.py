"""What studies of models with twelve layers of 768 cost by default, and with every layer.

    python -m benchmarks.deep

Each study runs cold, in a process and a store of its own, on models of random weights with the
included tokenizer: a base, a fine-tune (the base and a little noise), another seed, and a fine-tune
with a head. By the clock and in processor seconds, on whatever else the machine does: both rows of
a study are measured one after the other. What has been measured is kept in the folder and not run
again. The table of docs/benchmarks.md is made of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.included import measure as cold
from benchmarks.prices import make_models

SHAPE = (12, 768, 12)
STUDIES = {
    "probe": ("--models", "path:{a}", "path:{tuned-0}"),
    "probe edges": ("--models", "path:{a}", "path:{tuned-0}"),
    "align": ("--models", "path:{a}", "path:{b}"),
    "swap": ("--base", "path:{a}", "--compare", "path:{cls-0}"),
}
LAYERS = {"every layer": ("--layers", "all"), "default": ()}
AIMS = {"probe": 240, "probe edges": 240, "align": 300, "swap": 180}  # seconds by the clock


def measure(study: str, layers: str, folder: Path) -> dict[str, Any]:
    """Seconds by the clock and of processors, and gigabytes at the peak, of one study."""
    models = {path.name: str(path) for path in folder.iterdir() if path.is_dir()}
    asked = [word.format_map(models) for word in STUDIES[study]]
    seconds, processor, peak, load = cold([*study.split(), *asked, *LAYERS[layers]])
    measured = {"seconds": seconds, "processor": processor, "gigabytes": peak, "load": load}
    return {"study": study, "layers": layers, **measured}


def main() -> None:
    """Measure what has not been, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("out/deep"))
    parser.add_argument("--layers", choices=LAYERS, nargs="+", default=list(LAYERS))
    parser.add_argument("--studies", choices=STUDIES, nargs="+", default=list(STUDIES))
    given = parser.parse_args()
    models, kept = given.folder / "models", given.folder / "measured.jsonl"
    if not models.exists():
        models.mkdir(parents=True)
        make_models(models, *SHAPE)
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for study in given.studies:
        for layers in given.layers:
            if not any((row["study"], row["layers"]) == (study, layers) for row in rows):
                rows.append(measure(study, layers, models))
                with kept.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                print(rows[-1], file=sys.stderr)
    print(table(rows))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The measurements, a line a study and choice of layers."""
    lines = ["| study | layers | s | aim | processor s | GB |", "|---|---|---|---|---|---|"]
    measured = {(row["study"], row["layers"]): row for row in rows}
    for study, layers in product(AIMS, LAYERS):
        if (row := measured.get((study, layers))) is not None:
            aim = AIMS[study] if layers == "default" else ""
            seconds = (
                f"{row['seconds']:.0f} | {aim} | {row['processor']:.0f} | {row['gigabytes']:.1f}"
            )
            lines.append(f"| `{study}` | {layers} | {seconds} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
