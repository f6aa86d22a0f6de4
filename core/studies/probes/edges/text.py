"""What an edge-probing study shows: its statements, and its sentences, made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from core.maths.structural.bands import TWO_DRAWS
from core.models import parse_ref
from core.studies.kit import Result
from core.studies.probes.edges.coding import PENALTIES
from core.studies.probes.edges.items import BUCKETS
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.edges.tables import (
    ACCURACY,
    NAMES,
    SHOWN,
    UNSEEN,
)
from core.studies.probes.edges.tasks import LOOKUP
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.statements import (
    ABOVE,
    BEST,
    SIMILAR,
    TIED,
    compared,
    overfitted,
    strongest_rival,
    tied_of,
    unbeaten,
)
from core.studies.probes.trees.tables import (
    TAGS,
    WINDOW,
    best_row,
    models_in,
    rows_where,
)
from core.studies.probes.trees.text import notice_of
from core.studies.probes.trees.text import said as said_of_trees
from core.studies.text_kit import (
    Statement,
    estimate_of,
    layers_in_words,
    listed,
    short_names,
    text_of,
    words_beside,
)

BASELINE, NO_UNSEEN = "the baseline that scores highest", "no unseen test word"  # verdicts
ADDED = "added to the static window"
said = words_beside(__file__).sentence
CITATIONS = ("tenney2019", "voita2020", "hewitt2019control")
CONDITIONAL = "hewitt2021"  # cited where layers are probed beside the window
PLURALS = {
    "pos": "parts of speech",
    "label": "dependency labels",
    "distance": "head distances",
}
SHORT = {**PLURALS, "label": "labels"}  # in the first sentence


def best_rows(table: pd.DataFrame, model: str) -> dict[str, pd.Series]:
    """By target, the model's row at the layer with the best accuracy on development sentences."""
    rows = {name: best_row(of, model, ACCURACY) for name, of in table.groupby("probe", sort=False)}
    return {str(target): row for target, row in rows.items() if row is not None}


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """State by target the first model's best accuracy, its margin over the strongest baseline that
    knows no parts of speech, what its layers add to the window, the other models' differences from
    it, and the layers tied with a best one."""
    trained_first = sorted(models, key=lambda ref: parse_ref(ref).random)
    best = {ref: rows for ref in trained_first if (rows := best_rows(tables["edges"], ref))}
    if not best:
        return ()
    first, *others = best
    statements = []
    for target, row in best[first].items():
        layer = int(row["layer"])
        score = estimate_of(row, "value")
        statements.append(Statement(first, BEST, score, (layer,), metric=target))
        margins = rows_where(tables["edge_margins"], probe=target)
        for _, margin in strongest_rival(margins, first, ACCURACY, layer).iterrows():
            rival, score = str(margin["rival"]), estimate_of(margin, "rival_value")
            statements.append(Statement(rival, BASELINE, score, metric=target))
            statements.append(compared(first, margin, "margin", rival, target))
        if "added" in tables:
            statements += _largest_gain(rows_where(tables["added"], probe=target), first, target)
    for ref in (ref for ref in others if not parse_ref(ref).random):
        for target, row in best[ref].items():
            at = {"probe": target, "model": ref, "metric": ACCURACY, "layer": row["layer"]}
            statements += [
                compared(ref, difference, "difference", first, target)
                for _, difference in rows_where(tables["differences"], **at).iterrows()
            ]
    named = {(each.subject, each.metric) for each in statements}
    for ref, rows in best.items():
        for target in rows:
            tied = tied_of(rows_where(tables["best_layers"], probe=target), ref, ACCURACY)
            if (ref, target) in named and len(tied) > 1:
                statements.append(Statement(ref, TIED, layers=tied, metric=target))
    return tuple(statements)


def first_stated(result: Result) -> tuple[Statement, ...]:
    """What a result states of the first model and its strongest baselines; made of its tables
    where the text is in another language than the parser's and nothing is stated."""
    stated = result.statements or statements_of(result.tables, models_in(result.table))
    strongest = {(each.metric, each.subject) for each in stated if each.verdict == BASELINE}
    return tuple(
        each
        for each in stated
        if each.verdict in (BEST, ADDED) or (each.metric, each.baseline) in strongest
    )


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: EdgeSpec) -> tuple[Statement, ...]:
    """State which baselines the models are not above, where training sentences are too few, and for
    which targets no test word is unseen."""
    table, doubts = tables["edges"], []
    for ref in spec.models:
        for target, row in best_rows(table, ref).items():
            margins = rows_where(tables["edge_margins"], probe=target)
            similar = unbeaten(margins, ref, ACCURACY, int(row["layer"]))
            doubts += [replace(each, metric=target) for each in similar]
    if "added" in tables:
        for target, rows in tables["added"].groupby("probe", sort=False):
            doubts += [replace(each, metric=str(target)) for each in overfitted(rows, ACCURACY)]
    unscored = rows_where(table[table["value"].isna()], metric=UNSEEN, model=LOOKUP)
    doubts += [Statement(LOOKUP, NO_UNSEEN, metric=str(target)) for target in unscored["probe"]]
    return tuple(doubts)


def _largest_gain(added: pd.DataFrame, model: str, target: str) -> Iterator[Statement]:
    """What the layer that adds most adds to the static window, alone or beside layer 0, whichever
    scores higher."""
    rows = rows_where(added, model=model, metric=ACCURACY)
    gains = rows[rows["layer"] > 0]
    gains = gains[gains["rival_value"] == gains["rival_value"].max()]
    if len(gains):
        gain = gains.loc[gains["margin"].idxmax()]
        number, rival = estimate_of(gain, "margin"), str(gain["rival"])
        yield Statement(model, ADDED, number, (int(gain["layer"]),), rival, target)


def make_headline(
    statements: Sequence[Statement], doubts: Sequence[Statement] = ()
) -> Iterator[str]:
    """Write the statements in sentences: the first model beside its baselines, then the other
    models."""
    if not statements:
        return
    first = statements[0].subject
    leading = {each.metric: each for each in statements if each.verdict == BEST}
    scores = {each.metric: each for each in statements if each.verdict == BASELINE}
    tied = {(each.subject, each.metric): each for each in statements if each.verdict == TIED}
    rest = [each for each in statements if each.verdict not in (BEST, BASELINE, TIED, ADDED)]
    models = dict.fromkeys((first, *(each.subject for each in rest)))
    names = short_names(models)
    margins = {each.metric: each for each in rest if each.subject == first}
    clauses = {name: f"{each.number.value_text} of {SHORT[name]}" for name, each in leading.items()}
    places = {
        name: layers_in_words(tied.get((first, name), each).layers, "–")
        for name, each in leading.items()
    }
    if len(set(places.values())) == 1:
        best = f"{listed([*clauses.values()])} (best {next(iter(places.values()))})"
    else:
        best = (
            f"at best {listed([f'{clause} ({places[name]})' for name, clause in clauses.items()])}"
        )
    yield f"{_verdict(scores, margins)}: {names[first]} predicts {best}."
    yield from _similar(scores, margins)
    yield from _added(names[first], [each for each in statements if each.verdict == ADDED])
    for ref in models:
        gaps = [_gap(each, tied) for each in rest if each.subject == ref != first]
        if gaps:
            yield f"Compared with {names[first]}, {names[ref]} is {listed(gaps)}."
            yield from _unbeaten([each for each in doubts if each.subject == ref])


def _unbeaten(doubts: Sequence[Statement]) -> Iterator[str]:
    """Say which baselines the same model is not above, and on which targets."""
    targets: dict[str, list[str]] = {}
    for doubt in doubts:
        if doubt.verdict == SIMILAR:
            name = baseline_name(doubt.baseline)
            targets.setdefault(name, []).append(PLURALS[doubt.metric])
    if targets:
        clauses = [f"the {name} on {listed(on)}" for name, on in targets.items()]
        yield f"It is not detectably above {listed(clauses, word='or')}."


def _verdict(scores: Mapping[str, Statement], margins: Mapping[str, Statement]) -> str:
    """Say whether the model predicts more than the baselines that score highest, and what these
    predict, in the order of the targets: "No more than words alone (static window: 92 %)"."""
    names = list(dict.fromkeys(baseline_name(score.subject) for score in scores.values()))
    if not names:
        return "Without a baseline to compare with"
    *others, last = (score.number for score in scores.values())
    values = [*(text_of(each.value, "points") for each in others), last.value_text]
    if len(names) == 1:
        words = "words alone (" * (names[0] == SHOWN[WINDOW])
        rival = f"{words or 'the '}{names[0]}{': ' if words else ' ('}{listed(values)})"
    else:
        every = (
            f"{baseline_name(each.subject)} {each.number.value_text}" for each in scores.values()
        )
        rival = f"the best baselines ({listed([*every])})"
    above = [target for target, margin in margins.items() if margin.verdict == ABOVE]
    if not above:
        return f"No more than {rival}"
    only = f" in {listed([PLURALS[target] for target in above])} alone"
    return f"More than {rival}{only * (len(above) < len(margins))}"


def _similar(scores: Mapping[str, Statement], margins: Mapping[str, Statement]) -> Iterator[str]:
    """Say for which targets the difference from the baseline is not detectable."""
    alike = [name for name in scores if margins[name].verdict == SIMILAR]
    if alike:
        targets = listed([PLURALS[name] for name in alike])
        yield f"For {targets}, the difference from the baseline is not detectable."


def _added(name: str, gains: Sequence[Statement]) -> Iterator[str]:
    """Say what the best layers of a model add to its static window."""
    clauses = []
    for gain in gains:
        place = f"{PLURALS[gain.metric]} ({layers_in_words(gain.layers)}"
        if gain.number.low > 0:
            clauses.append(f"{gain.number.size} on {place})")
        else:
            nothing = "nothing" if gain.number.clear else "nothing detectable"
            clauses.append(f"{nothing} on {place}: {gain.number.text})")
    if clauses:
        yield f"To the static window, {name} adds {listed(clauses)}."


def _gap(statement: Statement, tied: Mapping[tuple[str, str], Statement]) -> str:
    """A model's difference from the first on one target, with its best layers."""
    gap = statement.number.direction("higher", "lower")
    if statement.verdict == SIMILAR:
        gap = f"not detectably different ({gap})"
    layers = tied.get((statement.subject, statement.metric), statement).layers
    return f"{gap} on {PLURALS[statement.metric]} ({layers_in_words(layers)})"


def make_notices(doubts: Sequence[Statement]) -> Iterator[str]:
    """A sentence for each of `doubts_of`."""
    for doubt in doubts:
        target = doubt.metric
        if doubt.verdict == NO_UNSEEN:
            yield said("no_unseen", targets=PLURALS[target])
        else:
            classifier = "a classifier of " * (doubt.baseline in TAGS.values())
            baseline = f"{classifier}the {baseline_name(doubt.baseline)}"
            yield notice_of(doubt, "accuracy", f", {NAMES[target]}", baseline)


def baseline_name(baseline: str) -> str:
    """A baseline as a sentence names it, without an article."""
    return SHOWN.get(baseline, "untrained model")


def make_methods(spec: EdgeSpec, treebank: Treebank, layers: str) -> str:
    """A methods paragraph, ready to paste; `layers` says those that were probed."""
    tried = {"low": text_of(min(PENALTIES), "whole"), "high": text_of(max(PENALTIES), "whole")}
    targets = listed([PLURALS[name] for name in spec.targets])
    buckets = said("distance", count=len(BUCKETS), classes="; ".join(BUCKETS))
    parts = (
        said("probes", targets=targets, layers=layers, models=", ".join(spec.probed)),
        said("penalty", penalty=spec.penalty) if spec.penalty else said("chosen_penalty", **tried),
        said("words"),
        treebank.in_words("Trees and tags", spec.as_probes),
        said("left_out"),
        said("label") if "label" in spec.targets else "",
        buckets if "distance" in spec.targets else "",
        said("codes"),
        said("selectivity", draws=spec.controls) if spec.controls else "",
        said("added") if spec.conditional else "",
        said("baselines"),
        said_of_trees("tied"),
        said("bands", draws=spec.draws, two=TWO_DRAWS * (spec.controls == 2)),
    )
    return " ".join(filter(None, parts))
