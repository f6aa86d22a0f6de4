"""Probes through training in sentences made from the numbers, and their method in a paragraph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.probes.trees.data import Treebank
from core.probes.trees.spec import ProbeSpec
from core.probes.trees.tables import CHAIN, CONTROL, NAMES, POSITION
from core.probes.trees.text import CITATIONS as PROBES
from core.probes.trees.text import make_methods as probes_methods
from core.results.drawing.training import progress_notices
from core.results.estimates import estimate_of
from core.results.names import short_name, short_names
from core.results.numbers import text_of

if TYPE_CHECKING:
    import pandas as pd

CITATIONS = (*PROBES, "liu2021", "saphra2019")
METRIC = "uuas"


def make_headline(tables: Mapping[str, pd.DataFrame]) -> str:
    """What training adds to the best layer's score, over which rival, and whether the peak moves.

    Args:
        tables: The study's `scores`, `best`, `margins` and `loss`.
    """
    best = tables["best"]
    best = best[best["metric"] == METRIC]
    if best.empty:
        return "No step could be probed; the reasons are below."
    names = short_names(best["model"])
    first, last = best.iloc[0], best.iloc[-1]
    begun, ended = (names[str(row["model"])] for row in (first, last))
    if len(best) == 1:
        return (
            f"UUAS of {ended} is {estimate_of(last, 'value').text}, in layer {last['layer']}; no step could be probed."
        )
    text = (
        f"UUAS of the best layer goes from {estimate_of(first, 'value').text} at {begun} to "
        f"{estimate_of(last, 'value').text} at "
        f"{ended}{_loss(tables['loss'])}."
    )
    return " ".join([text, *_over(tables["margins"], last), _moves(best, names)])


def view_sentence(tables: Mapping[str, pd.DataFrame], metric: str) -> str:
    """One score through training in a sentence that stands above its charts; "" where there is none.

    Args:
        tables: The study's `best` and `margins`.
        metric: "uuas" or "dspr".
    """
    best = tables["best"]
    best = best[best["metric"] == metric]
    if len(best) < 2:
        return ""
    names, first, last = short_names(best["model"]), best.iloc[0], best.iloc[-1]
    over = _rows(tables["margins"], last, metric)
    over = over[over["rival"] == first["model"]]
    text = (
        f"{NAMES[metric]} {'rises' if last['value'] > first['value'] else 'falls'} from "
        f"{estimate_of(first, 'value').value_text} at {names[str(first['model'])]} to "
        f"{estimate_of(last, 'value').text} at the end"
    )
    for row in over.itertuples():
        text += "" if row.low > 0 or row.high < 0 else ", which may be noise"
    before = best.iloc[:-1]
    if (before["ahead_low"] > 0).any():
        return f"{text}; its peak moves to layer {last['layer']}."
    if (before["layer"] == last["layer"]).all():
        return f"{text}; its peak stays in layer {last['layer']}."
    return f"{text}; that its peak moves, to layer {last['layer']}, is not clear of noise."


def make_notices(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """What these numbers do not show, said as it is."""
    best, scores, notices = tables["best"], tables["scores"], []
    best = best[best["metric"] == METRIC]
    unsure = [f"{short_name(row.model)} ({row.layer})" for row in best.itertuples() if not row.clear]
    if unsure:
        notices.append(f"Not clearly better than every other layer: the best layer of {', '.join(unsure)}.")
    control = scores[(scores["probe"] == f"distance{CONTROL}") & (scores["metric"] == METRIC) & scores["layer"].notna()]
    if len(control):
        low, high = float(control["value"].min()), float(control["value"].max())
        notices.append(
            f"On control trees the same probes score {text_of(low, 'points')} to {text_of(high, 'points')} %."
        )
    return [*notices, *progress_notices(best)]


def make_methods(spec: ProbeSpec, treebank: Treebank, models: tuple[str, ...]) -> str:
    """The probes' own paragraph, and what is asked of steps."""
    return (
        f"{probes_methods(spec, treebank, ())} The same probes were trained on each of {', '.join(models)}, from the "
        "same initial maps and on the same sentences. The peak of a step is its best layer on the development "
        "sentences; it is another than the end's where it scores more than the end's best layer in the same step, "
        "with a band over the same resamples of test sentences, and over probes, above 0: 95 % for all steps together, "
        "after Bonferroni. Tokens and losses are "
        "those of the models' cards; the steps in the box are of a second run of seed 0's recipe, which ends near "
        "zoo:seed-0 and not at it to rounding."
    )


def _rows(margins: pd.DataFrame, last: pd.Series, metric: str) -> pd.DataFrame:
    """The end's margins in its best layer."""
    mine = margins[(margins["model"] == last["model"]) & (margins["metric"] == metric)]
    return mine[mine["layer"] == last["layer"]]


def _over(margins: pd.DataFrame, last: pd.Series) -> list[str]:
    """The end's margins over its rivals, in its best layer."""
    rows = _rows(margins, last, METRIC)
    clauses = [
        f"{estimate_of(row, 'margin').direction('above', 'below')} {_rival(row['rival'])} "
        f"({estimate_of(row, 'rival_value').value_text}){'' if row['low'] > 0 else ', no clear margin'}"
        for _, row in rows.iterrows()
    ]
    return [f"That is {' and '.join(clauses)}."] if clauses else []


def _moves(best: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Whether the peak is elsewhere before the end."""
    layers = [int(layer) for layer in best["layer"]]
    end, before = layers[-1], best.iloc[:-1]
    if set(layers) == {end}:
        return f"The peak is layer {end} at every step."
    way = ", ".join(str(layer) for layer in layers[:-1])
    sure = [f"{names[row.model]} ({row.layer})" for row in before.itertuples() if row.ahead_low > 0]
    if sure:
        clear = f"for certain elsewhere than at the end in {', '.join(sure)}"
        return f"The peak lies in layers {way} before layer {end}; {clear}."
    return (
        f"The peak lies in layers {way} before layer {end}, but at no step is its lead over layer {end} clear of "
        "noise: these numbers do not show that it moves."
    )


def _loss(losses: pd.DataFrame) -> str:
    if len(losses) < 2:
        return ""
    first, last = float(losses["loss"].iloc[0]), float(losses["loss"].iloc[-1])
    return f", while the loss goes from {text_of(first, 'amount')} to {text_of(last, 'amount')}"


def _rival(name: str) -> str:
    names = {POSITION: "a probe on positions alone", CHAIN: "the linear chain"}
    return names.get(name, f"{short_name(name)}, which has seen nothing")


CAVEATS = {
    "Step 0 is not nothing.": (
        "Random layers on top of random word vectors keep words and their places apart, and a "
        "probe reads some of the tree off that. What training adds is the margin over step 0, not "
        "over zero."
    ),
    "The best layer is chosen, and choices jump.": (
        "Layers of one step lie within each other's bands. The number above a point moves when "
        "noise moves it; the sentence above the chart says whether any step's lead is clear of "
        "noise."
    ),
    "A probe reads what is there, not what is used.": (
        "The loss falls for many reasons; that syntax rises with it does not say that one brings the other."
    ),
    "Tokens are an axis, not a cause.": (
        "The learning rate, too, changes along it: in the box it falls to 0 at the end."
    ),
    "One run.": ("Bands are over sentences and probes. Another seed may rise earlier or later."),
}
