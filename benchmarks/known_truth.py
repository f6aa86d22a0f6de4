"""The AUC of each similarity measure for detecting the layers that are known to have changed.

    python -m benchmarks.known_truth > benchmarks/known_truth.txt

Included fine-tunes with frozen layers, and planted layers with and without matched size, as `python
-m core truth` and the RSA page show them; the latest table is committed as `known_truth.txt`.
"""

from __future__ import annotations

from extras.rsa.truth.report import column_name, finder_label
from extras.rsa.truth.spec import TruthSpec
from extras.rsa.truth.study import STUDY


def main() -> None:
    """Print the headline and a table for each truth."""
    result = STUDY.run(TruthSpec())
    print("AUC [95 % interval] (AUC among layers of equal depth).\n")
    print(result.cautioned(), *result.notices, *result.left_out, sep="\n")
    for (truth, matched), rows in result.table.groupby(["truth", "matched"], sort=False):
        counts = rows.iloc[0]
        size = ", weight changes matched in size" if matched else ""
        print(
            f"\n{truth}{size}: {counts['changed']} changed layers, {counts['unchanged']} "
            "unchanged layers\n"
        )
        columns = list(dict.fromkeys(column_name(row) for _, row in rows.iterrows()))
        print(f"{'':28}" + "".join(f"{name:>28}" for name in columns))
        for finder, mine in rows.groupby("finder", sort=False):
            cells = [
                f"{row['auc']:.2f}{_band(row['low'], row['high'])} ({row['same_depth']:.2f})"
                for _, row in mine.iterrows()
            ]
            print(f"{finder_label(str(finder)):28}" + "".join(f"{cell:>28}" for cell in cells))


def _band(low: float, high: float) -> str:
    return f" [{low:.2f}, {high:.2f}]" if low == low else ""


if __name__ == "__main__":
    main()
