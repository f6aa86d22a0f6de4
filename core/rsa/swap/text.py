"""What the exchange of layers shows, in sentences made from the numbers.

A layer is called needed when the whole band of what its exchange costs lies above zero, and needed for what
fine-tuning wrote into it when it also costs more than noise of the same size, by the whole band of the excess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.models.changes import Change
from core.results.estimates import estimate_of
from core.results.names import short_names
from core.results.notices import start_notices
from core.results.numbers import text_of
from core.rsa.layers.text import layers_in_words
from core.rsa.swap.examples import METRICS, PARSE

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMED, LED = 3, 2  # models with a sentence of their own, and in the first sentence


def needed_layers(rows: pd.DataFrame) -> tuple[list[int], list[int]]:
    """Layers whose exchange costs something for certain, and those of them that cost more than noise does.

    Args:
        rows: Rows of the table `swap` of one model.
    """
    single = rows[(rows["way"] == "layer") & (rows["loss_low"] > 0)]
    return sorted(int(layer) for layer in single["layer"]), sorted(
        int(layer) for layer in single.loc[single["excess_low"] > 0, "layer"]
    )


def make_headline(tables: dict[str, pd.DataFrame]) -> str:
    """What one layer costs, a sentence per model or a count where there are many."""
    unmodified, table = tables["own"], tables["swap"]
    names = short_names(tuple(unmodified["model"]))
    clauses = [
        _about(names[row["model"]], row, table[table["model"] == row["model"]])
        for _, row in unmodified.head(MOST_NAMED).iterrows()
    ]
    rest = len(unmodified) - len(clauses)
    return " ".join([_lead(unmodified, table, names), *clauses, *([f"{rest} more in the table."] if rest > 0 else [])])


def _lead(unmodified: pd.DataFrame, table: pd.DataFrame, names: dict[str, str]) -> str:
    """The layer of each model whose exchange alone costs most, for certain."""
    parts = []
    for _, row in unmodified.head(LED).iterrows():
        rows, score = table[table["model"] == row["model"]], text_of(row["score"])
        needed, _ = needed_layers(rows)
        if not needed:
            parts.append(f"{names[row['model']]} nothing for certain of {score}")
            continue
        single = rows[rows["way"] == "layer"]
        worst = single.loc[single["loss"].idxmax()]
        parts.append(
            f"{names[row['model']]} up to {estimate_of(worst, 'loss').text} of {METRICS[str(row['task'])]} {score} "
            f"(layer {int(worst['layer'])})"
        )
    return f"Exchanged for the base's, one layer costs {', '.join(parts)}."


def make_notices(tables: dict[str, pd.DataFrame], base: str) -> list[str]:
    """What a reader must know: whose answers, scores near chance, models that were not trained from the base."""
    unmodified = tables["own"]
    notices: list[str] = []
    parsed = [str(name) for name in unmodified.loc[unmodified["answers"] == PARSE, "model"]]
    if parsed:
        notices.append(
            f"{', '.join(parsed)}: scored against a parse, not gold. A parser and a tagger trained on one treebank "
            "share mistakes; demo-gold as text has hand-checked answers."
        )
    for _, row in unmodified.iterrows():
        if row["low"] <= row["chance"]:
            notices.append(
                f"{row['model']} scores {text_of(row['score'])} by itself, no more for certain than the commonest "
                f"answer ({row['commonest']}, {text_of(row['chance'])}): there is nothing for a layer to lose."
            )
    blocks = tables["sizes"][tables["sizes"]["layer"] > 0]
    sizes = blocks.groupby("model", sort=False)["relative_change"].median().to_dict() if len(blocks) else {}
    # Unrelated weights of one norm lie sqrt(2) times that norm apart.
    return notices + start_notices(base, {ref: Change(size, size / np.sqrt(2.0)) for ref, size in sizes.items()})


def _about(name: str, scores: pd.Series[float], rows: pd.DataFrame) -> str:
    """One model: how far the base's lower layers carry, and which single layers are needed."""
    score = f"{METRICS[str(scores['task'])]} {estimate_of(scores, 'score').text}"
    text = f"{name} ({score}, chance {text_of(scores['chance'])}): "
    below = rows[rows["way"] == "below"].sort_values("layer")
    free = [int(layer) for layer in below.loc[below["loss_low"] <= 0, "layer"]]
    depth = next((layer for layer in range(len(below)) if layer not in free), len(below)) - 1
    if depth < 0:
        text += "even the base's embeddings cost it something"
    elif depth == len(below) - 1:
        text += "with all of the base's layers under its head it loses nothing for certain"
    else:
        top = below[below["layer"] == depth].iloc[0]
        upto = "embeddings" if depth == 0 else f"layers 0 to {depth}"
        text += f"with the base's {upto} it loses nothing for certain ({text_of(top['score'])})"
    needed, own_work = needed_layers(rows)
    single = rows[rows["way"] == "layer"]
    layers = [int(layer) for layer in single["layer"]]
    if not needed:
        return f"{text}; no single layer is needed for certain."
    worst = single.loc[single["loss"].idxmax()]
    where = f" at layer {int(worst['layer'])}" if len(needed) > 1 else ""
    text += f"; exchanged alone, {_cost(needed, layers)} up to {estimate_of(worst, 'loss').text}{where}"
    if own_work == needed:
        text += ", more than the same change in random directions"
    elif not own_work:
        text += ", no more for certain than the same change in random directions"
    else:
        text += f", more than the same change in random directions for {layers_in_words(own_work, layers)}"
    gone = rows[rows["way"] == "removed"]
    free = sorted(int(layer) for layer in gone.loc[gone["loss_low"] <= 0, "layer"])
    if free:
        text += f"; {layers_in_words(free, gone['layer'].astype(int).tolist())} can be left out at no certain cost"
    return f"{text}."


def _cost(needed: list[int], layers: list[int]) -> str:
    words = layers_in_words(needed, layers)
    return f"{words} {'costs' if len(needed) == 1 or words.startswith('every layer') else 'cost'}"


CAVEATS = {
    "A layer that loses nothing need not be idle.": (
        "The base's layer may do the same work: it was there before. Left out, or with random "
        "weights, a layer shows whether the task needs any layer at that place."
    ),
    "A loss need not be the task's.": (
        "Layers of one model fit each other. The same change turned in random directions shows "
        "what that size and rank cost anywhere."
    ),
    "Larger changes lose more.": ("Compare losses of two models beside the sizes of their changes (table `sizes`)."),
    "Truncated is not retrained.": (
        "The head has learned the top layer's vectors; trained on a lower layer it would do "
        "better than the curve says. Diamonds are models trained with the lower layers frozen: "
        "training had a say there."
    ),
    "A parse is not gold.": ("Tags and heads of the demo come from a parser that learned the same treebank."),
}
