"""What layers add to the embedding table: seed alignment and probes beside the static window.

    python -m benchmarks.static_window > benchmarks/static_window.md

Both studies at their defaults, on the included models. The static window is layer 0 of a word and
its neighbours, with no layer run: the rival of every claim about what layers do.
"""

from __future__ import annotations

from typing import Any

from core.catalogue import STUDIES

WINDOW = "static window"


def main() -> None:
    """Print a table for each study."""
    print("# What layers add to the embedding table\n")
    print("`python -m benchmarks.static_window`; brackets are 95 % intervals.\n")
    print("## Alignment: share of the variance predicted on unseen words, points\n")
    result = run("align")
    errors = result.tables["layers"].query("group == 'models' and words == 'unseen'")
    errors = errors.set_index(["method", "layer"])["nmse"]
    gains = result.tables["gains"].query("group == 'models' and words == 'unseen' and layer >= 0")
    gains = gains.query("gain == 'state over window'").set_index("layer")
    print("| layer | static word | static window | kernel ridge | both | layers add |")
    print("|---|---|---|---|---|---|")
    for layer, row in gains.iterrows():
        names = ("static-word", "static-window", "kernel", "state-and-window")
        cells = [f"{100 - 100 * errors[name, layer]:.1f}" for name in names]
        print(f"| {layer} | {' | '.join(cells)} | {band(100 * row, 'difference')} |")
    print("\n## Probes: UUAS of each layer less that of the model's static window, points\n")
    print("| model | static window | layer | UUAS | less static window |\n|---|---|---|---|---|")
    margins = run("probe").tables["margins"].query(f"metric == 'uuas' and rival == '{WINDOW}'")
    for row in margins.to_dict("records"):
        rival, score = row["rival_value"], row["rival_value"] + row["margin"]
        print(
            f"| {row['model']} | {rival:.1f} | {row['layer']} | {score:.1f} | "
            f"{band(row, 'margin')} |"
        )


def run(name: str) -> Any:
    """A study at its defaults."""
    study = STUDIES[name]
    return study.run(study.Spec())


def band(row: Any, value: str) -> str:
    """A difference with its interval."""
    return f"{row[value]:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"


if __name__ == "__main__":
    main()
