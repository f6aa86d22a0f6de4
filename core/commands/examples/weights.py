"""Findings of the weights page."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.examples.finding import INK, Finding, Series
from core.errors import listed
from core.results.drawing.style import GREY, ORANGE
from core.results.export import Result
from core.results.names import short_name
from core.studies.weights.clusters.doses import dose_sentence
from core.studies.weights.clusters.view_text import votes_sentence
from core.studies.weights.intruders.text import CHANCE, SPECTRUM


def weights(results: Sequence[Result]) -> Finding:
    """Say of how many models a vote of the nearest neighbours names the task, by direction, by size
    and by chance."""
    votes = results[0].tables["votes"]
    chosen = str(results[0].spec["vector"])
    bars = [
        Series(
            str(row.vector),
            ORANGE if row.vector == chosen else GREY,
            ((0.0, float(row.right)),),
        )
        for row in votes.itertuples()
    ]
    chance = Series("chance", INK, ((0.0, float(votes["expected"].iloc[0])),))
    return Finding(
        votes_sentence(results[0]),
        "bars",
        (*bars, chance),
        f"models (of {int(votes['models'].iloc[0])}) whose task the vote names",
    )


def doses(results: Sequence[Result]) -> Finding:
    """Say what models trained with another learning rate are nearest to."""
    table = results[0].tables["doses"]
    by = {vector: rows.set_index("model")["lies_with"] for vector, rows in table.groupby("vector")}
    task = {vector: int((nearest == "task").sum()) for vector, nearest in by.items()}
    chosen, models = str(results[0].spec["vector"]), list(dict.fromkeys(table["model"]))
    return Finding(
        dose_sentence(results[0].statements),
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
    table, facts = results[1].tables["families"], results[1].statements
    counts, turned = (
        {fact.subject: fact.number for fact in facts if fact.baseline == rival}
        for rival in (CHANCE, SPECTRUM)
    )
    by_model = [f"{count.value_text} in {short_name(ref)}" for ref, count in counts.items()]
    return Finding(
        f"Of {table['looked'].iloc[0]} leading directions of each model, those that resemble none "
        f"of the base's: {listed(by_model)}. Random updates with the same singular values bring "
        f"{listed([count.value_text for count in turned.values()])}: a concentrated update is "
        "enough.",
        "bars",
        tuple(
            Series(short_name(ref), ORANGE if "lora" in ref else GREY, ((0.0, count.value),))
            for ref, count in counts.items()
        ),
        "intruder dimensions",
    )
