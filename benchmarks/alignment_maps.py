"""Held-out error of alignment maps: on two included seeds, and on planted bijections.

`python -m benchmarks.alignment_maps`. The numbers are those of `python -m core align`, `align
--split sentence`, `align check` and `align check --split sentence` with their defaults; stored
results are not computed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.maths.maps.registry import METHODS
from core.studies.alignment.seeds.spec import SPLITS, AlignSpec
from core.studies.alignment.seeds.study import STUDY
from extras.alignment.check import study as check

if TYPE_CHECKING:
    import pandas as pd


def show(table: pd.DataFrame) -> None:
    """Print a table as Markdown."""
    names = [str(name) for name in table.columns]
    print(f"| | {' | '.join(names)} |")
    print(f"|---|{'---:|' * len(names)}")
    for label, row in table.iterrows():
        print(
            f"| {METHODS[str(label)].label} | "
            f"{' | '.join('' if cell != cell else f'{cell:.3f}' for cell in row)} |"
        )
    print(flush=True)


def seeds() -> None:
    """Held-out error from the first seed into the second, mean over layers, and at layers 0, 3 and
    6."""
    spec = AlignSpec()
    for split in SPLITS:
        result = STUDY.run(AlignSpec(split=split))
        table = result.table
        table = table[
            (table["split"] == "test")
            & (table["source"] == spec.models[0])
            & (table["words"] != "all")
        ]
        means = table.pivot_table(index="method", columns="words", values="nmse")
        layers = table[table["layer"].isin((0, 3, 6))].pivot_table(
            index="method", columns=["words", "layer"], values="nmse"
        )
        layers.columns = [f"{words}, layer {layer}" for words, layer in layers.columns]
        print(f"split by {split}: {spec.models[0]} into {spec.models[1]}\n")
        show(means.join(layers).loc[[name for name in METHODS if name in means.index]])


def truths() -> None:
    """Error of undoing each planted bijection, by its blocks, and over kernel ridge's."""
    for split in SPLITS:
        result = check.STUDY.run(check.STUDY.Spec(split=split))
        table = result.table[result.table["blocks"] > 0]
        cells = table.pivot_table(index="method", columns=["truth", "blocks"], values="nmse")
        cells.columns = [f"{truth} {blocks}" for truth, blocks in cells.columns]
        print(f"planted bijections in layer {check.STUDY.Spec().layer}, split by {split}\n")
        show(cells.loc[[name for name in METHODS if name in cells.index]])


def main() -> None:
    """Print the tables."""
    seeds()
    truths()


if __name__ == "__main__":
    main()
