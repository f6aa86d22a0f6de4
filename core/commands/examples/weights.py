"""Findings of the weights page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.commands.examples.finding import INK, Finding, Series
from core.results.drawing.style import GREY, ORANGE
from core.results.names import listed, short_name
from core.results.numbers import text_of

if TYPE_CHECKING:
    from core.results.export import Result


def weights(results: Sequence[Result]) -> Finding:
    """Say how often nearest neighbours by weights share the task, by direction and by size."""
    result = results[0]
    used, table = int(result.arrays["k"]), result.tables["vectors"]
    rows = table[table["k"] == used].set_index("vector")
    chosen = str(result.spec["vector"])
    names = list(dict.fromkeys([chosen, "norms", *rows.index]))
    bars = [
        Series(name, ORANGE if name == chosen else GREY, ((0.0, float(rows.loc[name, "share"])),))
        for name in names
    ]
    chance = float(rows.loc[chosen, "chance"])
    return Finding(
        f"By the direction of the weight update, {text_of(rows.loc[chosen, 'share'], 'per cent')} "
        "of each "
        f"model's {used} nearest neighbours share its task (chance {text_of(chance, 'per cent')}). "
        f"By its size alone, {text_of(rows.loc['norms', 'share'], 'per cent')} do.",
        "bars",
        (*bars, Series("chance", INK, ((0.0, chance),))),
        "share of nearest neighbours with the same task",
    )


def doses(results: Sequence[Result]) -> Finding:
    """Say what models trained with another learning rate are nearest to."""
    table = results[0].tables["doses"]
    by = {vector: rows.set_index("model")["lies_with"] for vector, rows in table.groupby("vector")}
    task = {vector: int((nearest == "task").sum()) for vector, nearest in by.items()}
    chosen, models = str(results[0].spec["vector"]), list(dict.fromkeys(table["model"]))
    listed = " and ".join(short_name(str(model)) for model in models)
    return Finding(
        f"By the direction of the weight update, {task[chosen]} of {len(models)} models trained "
        "with "
        f"another learning rate ({listed}) are nearest to their own task. By its size alone "
        f"{task['norms'] or 'none'} {'is' if task['norms'] < 2 else 'are'}; "
        f"{int((by['norms'] == 'dose').sum())} are nearest to other tasks' models with an update "
        "of similar size.",
        "bars",
        tuple(
            Series(name, ORANGE if name == chosen else GREY, ((0.0, float(count)),))
            for name, count in task.items()
        ),
        f"number of models (of {len(models)}) nearest to their own task",
    )


def adapters(results: Sequence[Result]) -> Finding:
    """Say how many intruder dimensions adapters and the full fine-tune have, and random updates
    with their singular values."""
    table = results[1].tables["families"].query("family == 'all'").set_index("model")
    counts = {short_name(str(model)): row for model, row in table.iterrows()}
    said = [f"{row['intruders']} in {name}" for name, row in counts.items()]
    turned = [text_of(float(row["turned_mean"]), "amount") for row in counts.values()]
    return Finding(
        f"Of {table['looked'].iloc[0]} leading directions of each model, those that resemble none "
        f"of the base's: {listed(said)}. Random updates with the same singular values bring "
        f"{listed(turned)}: a concentrated update is enough.",
        "bars",
        tuple(
            Series(name, GREY if "lora" not in name else ORANGE, ((0.0, float(row["intruders"])),))
            for name, row in counts.items()
        ),
        "intruder dimensions",
    )
