"""The study in sentences: headline, notices and methods, made from its statements.

A layer is needed when the whole band of the loss from reverting it lies above zero, and needed for
what fine-tuning wrote into it when the loss is also larger than that of a random change of equal
size, by the whole band of the excess.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from core.models.changes import Change
from core.options.layer_numbers import which_layers
from core.studies.notices import start_notices
from core.studies.rsa.swap.spec import SwapSpec
from core.studies.text_kit import (
    TWO_LINES,
    Estimate,
    Statement,
    by_number,
    estimate_of,
    first_of,
    layers_in_words,
    listed,
    more_in_table,
    sentence_of,
    short_names,
    text_of,
    words_beside,
)
from core.vectors.examples import PARSE

said = words_beside(__file__).sentence
NOTHING = words_beside(__file__).nothing
MOST_NAMED = 3  # models with a sentence of their own
SCORES = "unmodified score"
GUESSES = "majority baseline"
LOSES = "largest loss from reverting one layer"
NO_LOSS = "no measurable loss from reverting one layer"
UNEXPLAINED = "largest loss from reverting one layer, those that a random change explains left out"
NEEDED = "reverting one layer lowers the score"
BEYOND_RANDOM = "loses more than under a random change of equal size"
UNCOMPARED = "lowers the score, without a random change to compare with"
LOWER_FREE = "no measurable loss from reverting all layers up to this one"
REMOVABLE = "no measurable loss from removing one layer"
FROZEN = "score of a fine-tune whose layers up to this one were frozen"
REVERTED = "score with the same layers reverted after training"
BASE, RANDOM = "the base's layer", "a random change of equal size"


def statements_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Statement, ...]:
    """State what each model scores, and which of its layers it needs."""
    statements: list[Statement] = []
    frozen = tables.get("frozen")
    for _, scores in tables["own"].iterrows():
        rows = tables["swap"][tables["swap"]["model"] == scores["model"]]
        statements += _of_model(scores, rows)
        if frozen is not None:
            statements += _of_frozen(frozen[frozen["of"] == scores["model"]], rows)
    return tuple(statements)


def _of_frozen(frozen: pd.DataFrame, rows: pd.DataFrame) -> list[Statement]:
    """State what the fine-tune with the most frozen layers scores, and the model itself with the
    same layers reverted; nothing without such a fine-tune."""
    if frozen.empty:
        return []
    most = frozen.loc[frozen["layer"].idxmax()]
    depth, model, sibling = int(most["layer"]), str(most["of"]), str(most["model"])
    layers = tuple(range(depth + 1))
    reverted = [
        Statement(model, REVERTED, estimate_of(row, "score"), layers, BASE)
        for _, row in rows[(rows["way"] == "below") & (rows["layer"] == depth)].iterrows()
    ]
    return [Statement(model, FROZEN, estimate_of(most, "score"), layers, sibling), *reverted]


def _of_model(scores: pd.Series[float], rows: pd.DataFrame) -> list[Statement]:
    """State one model's score and its layers."""
    model = str(scores["model"])
    statements = [
        Statement(model, SCORES, estimate_of(scores, "score"), baseline=GUESSES),
        Statement(model, GUESSES, Estimate(float(scores["chance"]))),
    ]
    single = rows[rows["way"] == "layer"]
    lower = single[single["loss_low"] > 0]
    needed = _layers(lower)
    costly, verdict = (lower, LOSES) if needed else (single, NO_LOSS)
    statements.append(_costliest(model, verdict, costly))
    beyond = _layers(lower[lower["excess_low"] > 0])
    uncompared = _layers(lower[lower["excess_low"].isna()])
    statements += [
        Statement(model, verdict, layers=layers, baseline=baseline)
        for verdict, layers, baseline in (
            (NEEDED, needed, BASE),
            (BEYOND_RANDOM, beyond, RANDOM),
            (UNCOMPARED, uncompared, ""),
        )
        if layers
    ]
    if beyond or uncompared:
        unexplained = lower[lower["layer"].isin((*beyond, *uncompared))]
        statements.append(_costliest(model, UNEXPLAINED, unexplained))
    below = rows[rows["way"] == "below"].sort_values("layer")
    first_costly = min(_layers(below[below["loss_low"] > 0]), default=np.inf)
    free = [layer for layer in _layers(below) if layer < first_costly]
    if free:
        depth = free[-1]
        loss = estimate_of(below[below["layer"] == depth].iloc[0], "loss")
        statements.append(Statement(model, LOWER_FREE, loss, tuple(range(depth + 1)), BASE))
    gone = rows[rows["way"] == "removed"]
    removable = _layers(gone[gone["loss_low"] <= 0])
    if removable:
        statements.append(Statement(model, REMOVABLE, layers=removable))
    return statements


def _costliest(model: str, verdict: str, rows: pd.DataFrame) -> Statement:
    """State the largest loss of these rows, and its layer."""
    most = rows.loc[rows["loss"].idxmax()]
    return Statement(model, verdict, estimate_of(most, "loss"), (int(most["layer"]),), BASE)


def _layers(rows: pd.DataFrame) -> tuple[int, ...]:
    return tuple(sorted(int(layer) for layer in rows["layer"]))


def make_headline(
    statements: Sequence[Statement], metrics: Mapping[str, str], refused: Sequence[str] = ()
) -> str:
    """Say how much one reverted layer costs and what fine-tunes with frozen layers score, which
    models are not scored, then what each model needs."""
    models = list(metrics)
    names = short_names((*models, *refused))
    left = listed([names[ref] for ref in refused], MOST_NAMED)
    facts = {(statement.subject, statement.verdict): statement for statement in statements}
    shown = first_of(models, MOST_NAMED)
    clauses = [_about(facts, model, names[model], metrics[model]) for model in shown]
    lead = _lead(facts, {ref: names[ref] for ref in shown}, metrics)
    lead += [f"{left} {by_number(len(refused), 'is', 'are')} not scored."] if left else []
    more = more_in_table(len(models) - len(shown))
    return " ".join(filter(None, (*lead, *clauses, more)))


Facts = Mapping[tuple[str, str], Statement]


def _lead(facts: Facts, names: Mapping[str, str], metrics: Mapping[str, str]) -> list[str]:
    """Say what the most costly single layer costs each model, those apart that cost no more than a
    random change, and what fine-tunes with frozen layers score: in one sentence where two lines
    hold it."""
    lowered: list[str] = []
    equalled: list[str] = []
    kept: list[str] = []
    for model, name in names.items():
        worst = facts.get((model, UNEXPLAINED))
        if (model, LOSES) not in facts:
            kept.append(f"{name}'s {metrics[model]} ({facts[model, SCORES].number.value_text})")
        elif worst is None:
            equalled.append(name)
        else:
            most = f"{'' if lowered else 'up to '}{worst.number.value_text}"
            of = f"{facts[model, SCORES].number.value_text} {metrics[model]}"
            lowered.append(f"{name} {most} of {of} ({layers_in_words(worst.layers)})")
    intact = "Reverting any one layer to the base does not measurably lower"
    random = "more than a random change of equal size does"
    clauses = (
        (lowered, f"Reverting a layer costs {listed(lowered)}"),
        (equalled, f"{intact} the score of {listed(equalled, word='or')} {random}"),
        (kept, f"{intact} {listed(kept, word='or')}"),
    )
    stated = [clause for named, clause in clauses if named]
    frozen = _frozen(facts, names)
    whole = sentence_of(stated[0], frozen)
    if frozen and len(whole) <= TWO_LINES:
        return [whole, *map(sentence_of, stated[1:])]
    return [sentence_of(clause) for clause in (*stated, frozen) if clause]


def _frozen(facts: Facts, names: Mapping[str, str]) -> str:
    """Say what fine-tunes score whose lower layers were frozen in training, in a clause; "" without
    any."""
    there = [facts[model, FROZEN] for model in names if (model, FROZEN) in facts]
    if not there:
        return ""
    depths = {each.layers for each in there}
    which = layers_in_words(there[0].layers) if len(depths) == 1 else "lower layers"
    scores = listed([each.number.value_text for each in there])
    whole = len(there) == len(names) > 1
    who = "they" if whole else listed([names[each.subject] for each in there])
    return f"with {which} frozen, {who} {by_number(len(there), 'reaches', 'reach')} {scores}"


def _about(facts: Facts, model: str, name: str, metric: str) -> str:
    """Describe one model: its score, the layers it needs, those that can be reverted or removed."""
    guess = facts[model, GUESSES].number.text
    needed, free, frozen, reverted, removable = (
        facts.get((model, verdict)) for verdict in (NEEDED, LOWER_FREE, FROZEN, REVERTED, REMOVABLE)
    )
    together = "the embeddings"
    if free and len(free.layers) > 1:
        together = f"layers 0 to {free.layers[-1]} together"
    after = f"; reverted after training, {reverted.number.text}" if reverted else ""
    parts = (
        f"{name} scores {facts[model, SCORES].number.text} ({metric}; majority baseline {guess}).",
        _needed(facts, model, needed.layers) if needed else "",
        f"Reverting {together} costs nothing measurable." if free else "",
        f"Trained with {layers_in_words(frozen.layers)} frozen, it scores "
        f"{frozen.number.text}{after}."
        if frozen
        else "",
        f"Removing {_any(removable.layers)} costs nothing measurable." if removable else "",
    )
    return " ".join(filter(None, parts))


def _needed(facts: Facts, model: str, needed: Sequence[int]) -> str:
    """Say how much reverting a needed layer costs, and whether a random change costs as much."""
    worst = facts[model, LOSES]
    up_to = f"up to {worst.number.text} (layer {worst.layers[0]})"
    beyond, uncompared = (
        facts[model, verdict].layers if (model, verdict) in facts else ()
        for verdict in (BEYOND_RANDOM, UNCOMPARED)
    )
    compared = tuple(layer for layer in needed if layer not in uncompared)
    return (
        f"Reverting {_any(needed)} to the base lowers this "
        f"by {up_to if len(needed) > 1 else worst.number.text}"
        f"{_beyond(beyond, compared, bool(uncompared))}."
    )


def _any(layers: Sequence[int]) -> str:
    return f"any of {layers_in_words(layers)} alone" if len(layers) > 1 else layers_in_words(layers)


def _beyond(beyond: Sequence[int], compared: Sequence[int], some: bool) -> str:
    """Say whether a random change of equal size costs as much, where there was one: with `some`,
    not at all layers that are needed."""
    more = "more" if beyond else "not measurably more"
    if not compared:
        return ""
    if not some and tuple(beyond or compared) == tuple(compared):
        return f", {more} than a random change of equal size does"
    where = layers_in_words(beyond or compared)
    return f"; in {where}, this is {more} than a random change of equal size costs"


def make_notices(tables: Mapping[str, pd.DataFrame], base: str) -> list[str]:
    """Tell whose answers the scores rest on, which are near the baseline, which models are
    unrelated to the base."""
    unmodified = tables["own"]
    parsed = unmodified.loc[unmodified["answers"] == PARSE, "model"].tolist()
    near = unmodified[unmodified["low"] <= unmodified["chance"]]
    blocks = tables["sizes"][tables["sizes"]["layer"] > 0]
    sizes = blocks.groupby("model", sort=False)["relative_change"].median()
    # Unrelated weights of one norm lie sqrt(2) times that norm apart.
    changes = {str(ref): Change(size, size / np.sqrt(2.0)) for ref, size in sizes.items()}
    return [
        *([said("parsed", models=listed(parsed))] if parsed else []),
        *(
            said(
                "near_baseline",
                model=row["model"],
                score=text_of(row["score"]),
                answer=row["commonest"],
                chance=text_of(row["chance"]),
            )
            for row in near.to_dict("records")
        ),
        *start_notices(base, changes),
    ]


def controls_of(spec: SwapSpec) -> list[str]:
    """Name what is computed at `layer_numbers.control_layers` alone."""
    return ["random changes", *["random weights"] * spec.random]


def unread_notices(spec: SwapSpec, kinds: Collection[str], read: str) -> list[str]:
    """Say which of the chosen texts the heads, of these kinds, have no use for."""
    if "sentence" in kinds:
        unread = len(kinds) == 1 and spec.corpus != SwapSpec.corpus
        return [said("unread", corpus=spec.corpus, labelled=read)] if unread else []
    return [said("unlabelled", corpus=read, labelled=spec.labelled)] if spec.labelled else []


def make_methods(
    spec: SwapSpec,
    models: Mapping[str, int],
    counts: Mapping[str, int],
    truth: Mapping[str, str],
) -> str:
    """Write a methods paragraph: `models` with their numbers of layers; examples and where right
    answers come from, by kind of head."""
    swapped = which_layers(spec.layers, models, controls_of(spec))
    whose = {True: "the included parser's parse, not gold", False: "the text's own annotation"}
    parts = (
        said("methods", models=", ".join(models), base=spec.base),
        said("some", layers=swapped) if swapped != which_layers((), {}) else "",
        *(
            said(kind, count=counts[kind], whose=whose[truth[kind] == PARSE])
            for kind in ("sentence", "words", "arcs")
            if kind in counts
        ),
        said("baselines", noises=spec.noises, draws=spec.draws),
    )
    return " ".join(filter(None, parts))
