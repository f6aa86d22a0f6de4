"""Results that the findings name and no page shows first, so that they are not precomputed.

    python -m benchmarks.findings > benchmarks/findings.md

The documentation fills its numbers in from these tables, see `docs.make.numbers`. Results are read
from the store where it has them, and computed where it does not: about eight processor minutes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.results.columns import COLUMNS, Column
from core.studies.weights.activations import STATE_VECTORS, StateVector
from docs.make.numbers import asked_by

TASKS = ("parse", "sentiment", "nli", "pos", "question", "subjectivity")
RUNS = " ".join(["rsa --compare", *(f"zoo:{task}-[0-9]" for task in TASKS)])
OTHERWISE_MEASURED = (  # outputs of layers beside random changes: other runs, other measures
    "rsa --compare zoo:parse-1 zoo:parse-2 zoo:sentiment-1 zoo:sentiment-2 --no-pool-runs "
    "--no-references",
    "rsa --compare zoo:parse-0 zoo:sentiment-0 --no-references --measure procrustes",
    "rsa --standardise --no-references",
)
SCALED = ("model", "metric", "way", "scale", "value", "change", "beyond", "excess")


@dataclass(frozen=True)
class Asked:
    """A table of a study.

    Attributes:
        command: Without `python -m core`.
        table: Of the result.
        rows: A condition on its rows.
        columns: Of which estimates have their intervals beside them.
        mean_by: A column over whose rows numbers are averaged; none where empty.
    """

    command: str
    table: str
    rows: str
    columns: tuple[str, ...]
    mean_by: str = ""


def asked() -> list[Asked]:
    """Every table, in the order in which the documentation numbers them."""
    decoders = "divergence --base zoo:decoder-0 --compare zoo:review-0 zoo:decoder-1"
    parsing = "--models zoo:parse-0-lora-* zoo:parse-0"
    feeling = "--models zoo:sentiment-0-lora-* zoo:sentiment-0"
    tagged = "probe --models zoo:seed-0 zoo:pos-0"
    decoded = "rsa --base zoo:decoder-0 --compare zoo:decoder-1 --no-references --drop-rogue 1"
    layered, moved = ("model", "layer", "similarity"), ("model", "layer", "ratio")
    return [
        Asked(
            decoders,
            "divergence",
            "by == 'all'",
            ("model", "part", "js", "chance_js", "surprisal", "base_surprisal"),
        ),
        Asked(decoders, "states", "part == part", ("model", "part", "layer", "similarity")),
        Asked(
            "weights --activations",
            "vectors",
            "k == 2 and vector.str.startswith('activations')",
            ("vector", "share", "chance", "p_value"),
        ),
        Asked(
            "rsa --compare zoo:seed-0-again --no-references",
            "similarity",
            "layer == 6",
            ("model", "relative_change"),
        ),
        Asked(RUNS, "similarity", "layer == 6", layered),
        Asked(f"{RUNS} --matched-size", "similarity", "layer == 6", layered),
        Asked(
            f"weights intruders {parsing}",
            "families",
            "family == 'all'",
            ("model", "looked", "intruders", "null_mean", "turned_mean", "corrected_p"),
        ),
        Asked(f"weights scaling {parsing}", "scaling", "scale == scale", SCALED),
        Asked(
            f"weights intruders {parsing}",
            "intruders",
            "layer == layer",
            ("model", "relative_norm"),
            mean_by="model",
        ),
        Asked(
            f"weights intruders {feeling}",
            "families",
            "family == 'all'",
            ("model", "looked", "intruders", "turned_mean", "corrected_p"),
        ),
        Asked(f"weights scaling {feeling}", "scaling", "scale in (0, 1)", SCALED),
        Asked(
            tagged,
            "scores",
            "metric == 'uuas' and probe == 'distance'",
            ("model", "layer", "value"),
        ),
        *(Asked(each, "random_functions", "layer > 0", moved) for each in OTHERWISE_MEASURED),
        Asked(decoded, "similarity", "layer >= 0", layered),
    ]


def main() -> None:
    """Print the tables."""
    STATE_VECTORS["activations_embeddings"] = StateVector(
        "Embeddings", "Mean change of the embeddings: no layer has run.", lambda layers: 0
    )
    print("# Results that the findings name\n")
    print("`python -m benchmarks.findings`; brackets are 95 % intervals.", flush=True)
    results: dict[str, Any] = {}
    for number, each in enumerate(asked(), start=1):
        if each.command not in results:
            study, spec = asked_by(each.command)
            results[each.command] = study.run(spec)
        table = results[each.command].tables[each.table].query(each.rows, engine="python")
        if each.mean_by:
            table = table.groupby(each.mean_by, sort=False).mean(numeric_only=True).reset_index()
        mean = f", mean by {each.mean_by}" if each.mean_by else ""
        print(f"\n## {number}: `{each.command}`, {each.table}{mean}\n")
        print(f"| {' | '.join(each.columns)} |\n|{'---|' * len(each.columns)}")
        for row in table.to_dict("records"):
            cells = (cell(row, column) for column in each.columns)
            print(f"| {' | '.join(cells)} |", flush=True)


def cell(row: Mapping[str, Any], column: str) -> str:
    """A cell as `docs.make.tables` reads it: text, a number, or a number with its interval.

    Example:
        >>> row = {"layer": 6, "similarity": 0.5, "low": 0.25, "high": 0.75}
        >>> cell(row, "layer"), cell(row, "similarity")
        ('6', '0.5 [0.25, 0.75]')
    """
    value = row[column]
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    shared = COLUMNS.get(column, Column()).interval == "shared"
    low, high = (row.get(end if shared else f"{column}_{end}", math.nan) for end in ("low", "high"))
    if math.isnan(low):
        return number(value)
    return f"{number(value)} [{number(low)}, {number(high)}]"


def number(value: float) -> str:
    """A number with five decimals at most, without zeros at its end."""
    return f"{value:.5f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    main()
