"""What the study of behaviour shows: its statements, and its sentences, made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.statistics import SIGNIFICANT
from core.models import parse_ref
from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.behaviour.tables import (
    ALL,
    BIGRAM,
    EVERY,
    UNRELATED,
    WHOLE,
    Hits,
    corrected_share,
    longest_run,
    whole_kind,
)
from core.studies.probes.minimal_pairs.pairs_file import OWN
from core.studies.probes.minimal_pairs.templates import KINDS
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.statements import ABOVE, BELOW, SIMILAR, verdict_of
from core.studies.probes.trees.tables import rows_where
from core.studies.probes.trees.text import gap_in_words
from core.studies.text_kit import (
    Estimate,
    Statement,
    by_number,
    estimate_of,
    listed,
    short_name,
    short_names,
    words_beside,
)

OVERALL, HIGHEST, LOWEST = "accuracy", "highest accuracy", "lowest accuracy"
CORRELATES, UNDECIDED = "correlates with accuracy", "does not correlate detectably"
TOO_FEW = "too few models to tell"
BELOW_CHANCE = "accuracy below chance"
OTHERWISE = "accuracy of whole sentences"  # where it differs detectably
CHANCE = 50.0  # per cent
CITATIONS = (
    *("warstadt2020", "marvin2018", "salazar2020", "kauf2023", "witten1991"),
    *("wilson1927", "korn1998", "bonett2000", "hu2020"),
)
PROBE_CITATIONS = ("hewitt2019structural", "tenney2019")
said = words_beside(__file__).sentence
OFTEN = {SIMILAR: "Not detectably more", ABOVE: "More", BELOW: "Less"}
FURTHER = {OTHERWISE: "whole", CORRELATES: "correlated", UNDECIDED: "not_correlated"}  # sentences
DOUBTS = {BELOW_CHANCE: "below_chance", OTHERWISE: "otherwise"}  # sentences
NAMES = {
    "agreement": "agreement",
    "reflexive": "reflexives",
    "polarity": "negative polarity",
    "determiner": "determiners",
    "arguments": "verb arguments",
    OWN: "your own",
    "all": "all kinds",
}
SCORES = {
    "uuas of distance": "UUAS",
    "accuracy of pos": "accuracy on parts of speech",
    "accuracy of label": "accuracy on dependency labels",
    "accuracy of distance": "accuracy on head distances",
}
NEAREST = "the models agree with the nearest noun rather than with the subject"
INSTEAD = {
    "agreement": NEAREST,
    "reflexive": NEAREST,
    "polarity": "the models find “ever” more probable after the nearer negation",
}  # what a model does that has a kind wrong


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """State the first trained model's accuracy, its margins, its best and worst kinds of pairs, and
    how each probe's score correlates with accuracy over unrelated models; nothing without a
    model."""
    table = tables["behaviour"]
    if not models:
        return ()
    first = next((ref for ref in models if not parse_ref(ref).random), models[0])
    mine = rows_where(table, model=first)
    kind = whole_kind(mine)
    whole = rows_where(mine, kind=kind).iloc[0]
    statements = [Statement(first, OVERALL, estimate_of(whole, "value"))]
    margins = rows_where(tables["behaviour_margins"], model=first, kind=kind)
    for _, row in margins.iterrows():
        margin = estimate_of(row, "margin")
        if row["rival"] != WHOLE:
            statements.append(Statement(first, verdict_of(margin), margin, (), str(row["rival"])))
        elif margin.clear:
            statements.append(Statement(first, OTHERWISE, _whole(row)))
    kinds = mine[mine["kind"] != ALL]
    if len(kinds) > 1:
        places = {HIGHEST: kinds["value"].idxmax(), LOWEST: kinds["value"].idxmin()}
        ends = {verdict: kinds.loc[place] for verdict, place in places.items()}
        statements += [
            Statement(first, verdict, estimate_of(row, "value"), metric=str(row["kind"]))
            for verdict, row in ends.items()
        ]
    return (*statements, *_correlations(tables, kind))


def other_statements(
    tables: Mapping[str, pd.DataFrame], stated: Sequence[Statement]
) -> tuple[Statement, ...]:
    """State the same of the models that `statements_of` does not compare, and of the bigrams: the
    accuracy, and its margin over the bigrams."""
    if not stated:
        return ()
    table, margins = tables["behaviour"], tables["behaviour_margins"]
    kind = whole_kind(rows_where(table, model=stated[0].subject))
    rows = rows_where(table[table["model"] != stated[0].subject], kind=kind, metric="accuracy")
    facts = [
        Statement(str(row["model"]), OVERALL, estimate_of(row, "value"))
        for _, row in rows.iterrows()
    ]
    above = rows_where(margins[margins["model"] != stated[0].subject], kind=kind, rival=BIGRAM)
    for _, row in above.iterrows():
        margin = estimate_of(row, "margin")
        facts.append(Statement(str(row["model"]), verdict_of(margin), margin, (), BIGRAM))
    return tuple(facts)


def _whole(row: pd.Series) -> Estimate:
    """The accuracy of whole sentences, of a row that compares it."""
    return Estimate(float(row["rival_value"]), kind="points")


def _correlations(tables: Mapping[str, pd.DataFrame], kind: str) -> list[Statement]:
    """State the correlation of each probe's score with accuracy, over unrelated models; over all of
    them where fewer than three are unrelated, which nobody can test."""
    if "rank_correlations" not in tables:
        return []
    table = tables["rank_correlations"]
    among = UNRELATED if UNRELATED in set(table["among"]) else EVERY
    return [
        Statement(
            f"{row['metric']} of {row['probe']}",
            _verdict(row),
            estimate_of(row, "correlation", "share"),
            (),
            among_models(int(row["models"]), int(row["origins"])),
        )
        for _, row in rows_where(table, kind=kind, among=among).iterrows()
        if row["correlation"] == row["correlation"]
    ]


def _verdict(row: pd.Series) -> str:
    """Tell whether a correlation is significant, or could be with this many models."""
    if not row["smallest_p"] < SIGNIFICANT:  # related models have none
        return TOO_FEW
    return CORRELATES if row["corrected_p"] < SIGNIFICANT else UNDECIDED


def among_models(count: int, origins: int) -> str:
    """Name the models of a correlation, as in "5 unrelated models"."""
    if origins == count:
        return f"{count} unrelated models"
    return f"{count} models, of which only {origins} {by_number(origins, 'is', 'are')} unrelated,"


def doubts_of(
    hits: Mapping[str, Hits],
    margins: pd.DataFrame,
    models: Sequence[str],
    own: NDArray[np.int64] | None = None,
) -> tuple[Statement, ...]:
    """State which kinds of pairs final models have wrong more often than chance, corrected for all
    models and kinds, and which they judge otherwise where whole sentences are scored."""
    run = longest_run(models)
    final = [ref for ref in models if ref not in run[:-1] and not parse_ref(ref).random]
    tried = [(ref, kind) for ref in final for kind in hits[ref]]
    shares = [(*each, corrected_share(hits[each[0]], each[1], len(tried), own)) for each in tried]
    below = [
        Statement(model, BELOW_CHANCE, share, metric=kind)
        for model, kind, share in shares
        if share.high < CHANCE
    ]
    differing = margins[
        (margins["rival"] == WHOLE) & ((margins["low"] > 0) | (margins["high"] < 0))
    ]
    otherwise = [
        Statement(row["model"], OTHERWISE, _whole(row), (), WHOLE, row["kind"])
        for _, row in differing.iterrows()
        if row["model"] in final and row["kind"] != ALL
    ]
    return (*below, *otherwise)


def make_headline(statements: Sequence[Statement]) -> Iterator[str]:
    """Write the statements in sentences: the first model, its kinds of pairs, the probes."""
    if not statements:
        return
    first, *rest = statements
    model = first.subject
    margins = [each for each in rest if each.subject == model and each.baseline]
    names = short_names((model, *(each.baseline for each in margins if each.baseline != BIGRAM)))
    names |= {BIGRAM: "the bigram baseline"}
    bigrams = next((each for each in margins if each.baseline == BIGRAM), None)
    score = f"{names[model]} prefers the grammatical sentence in {first.number.text} of pairs"
    verdict = ABOVE if first.number.low > CHANCE else SIMILAR
    rival, gap = "chance level (50 %)", ""
    if bigrams is not None:
        verdict, rival = bigrams.verdict, "word pairs alone (bigrams)"
        gap = f", {bigrams.number.direction('above', 'below')} them"
    yield f"{OFTEN[verdict]} often than {rival}: {score}{gap}."
    ends = [
        f"{each.number.value_text} ({NAMES[each.metric]})"
        for verdict in (LOWEST, HIGHEST)
        for each in rest
        if each.verdict == verdict
    ]
    if ends:
        yield f"It ranges from {' to '.join(ends)}."
    clauses = [gap_in_words(each, names[each.baseline]) for each in margins if each is not bigrams]
    if clauses:
        yield f"Its accuracy is {listed(clauses)}."
    few: dict[str, list[str]] = {}  # correlations by the models that are too few to test them
    for each in rest:
        number, probe = each.number, SCORES.get(each.subject)
        if each.verdict in FURTHER:
            sign = "higher" if number.value > 0 else "lower"
            yield said(
                FURTHER[each.verdict], value=number.value_text, number=number.text, score=probe,
                models=each.baseline, sign=sign,
            )  # fmt: skip
        elif each.verdict == TOO_FEW:
            few.setdefault(each.baseline, []).append(f"{number.value_text} for {probe}")
    for models, values in few.items():
        yield said("too_few", models=models, values=", ".join(values))


def make_notices(doubts: Sequence[Statement], refused: Sequence[str]) -> list[str]:
    """Write what limits the headline: rules applied the wrong way round, and the models left out
    because they have no language-model head."""
    scores: dict[tuple[str, str], list[str]] = {}
    for doubt in doubts:
        score = f"{short_name(doubt.subject)} {doubt.number.value_text}"
        scores.setdefault((doubt.verdict, doubt.metric), []).append(score)
    notices = [
        said(
            DOUBTS[verdict],
            pairs=NAMES[kind],
            scores=", ".join(of_models),
            instead=INSTEAD.get(kind, "the models prefer the wrong sentence"),
        )
        for (verdict, kind), of_models in scores.items()
    ]
    return [*notices, *refusals(refused)]


def refusals(refused: Sequence[str]) -> list[str]:
    """Say which models cannot be scored, and why, where there are any."""
    return [said("refused", models=", ".join(refused))] if refused else []


def make_methods(
    spec: BehaviourSpec,
    heads: Mapping[str, str],
    counted: int,
    treebank: Treebank | None,
    own: int = 0,
) -> str:
    """Write a methods paragraph, ready to paste; `counted` are the tokens behind the bigrams, `own`
    the pairs of the reader's own, and the treebank is None without probes."""
    models, kinds = ", ".join(heads), "; ".join(KINDS[kind] for kind in spec.kinds)
    parts = (
        said("own", models=models, pairs=own, file=Path(spec.pairs_file).name)
        if own
        else said("templates", models=models, pairs=spec.pairs, kinds=kinds),
        said("right"),
        said("own_region" if own else "region"),
        said("masked") if "masked" in heads.values() else "",
        said("causal") if "causal" in heads.values() else "",
        said("bigrams", tokens=counted),
        _probe_methods(spec, treebank),
    )
    return " ".join(filter(None, parts))


def _probe_methods(spec: BehaviourSpec, treebank: Treebank | None) -> str:
    """Say how probes were trained; "" without them."""
    if treebank is None:
        return ""
    targets = f", and linear classifiers of {', '.join(spec.targets)}" if spec.targets else ""
    return said(
        "probes",
        rank=spec.as_probes(spec.refs[0]).rank,
        targets=targets,
        text=treebank.corpus.ref,
        source="predicted by a parser" if treebank.parsed else "from the treebank",
        **{part: len(rows) for part, rows in treebank.parts.items()},
    )
