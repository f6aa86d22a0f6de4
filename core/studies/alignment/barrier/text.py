"""The barrier in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pandas as pd

from core.maths.arrays import Value
from core.studies.alignment.barrier.scoring import DRAWN, TURNED
from core.studies.alignment.barrier.spec import BarrierSpec
from core.studies.alignment.barrier.tables import MIDPOINT, ONE_ORIGIN, OTHER_ORIGINS
from core.studies.alignment.barrier.tasks import (
    FOLDED,
    MATCHED,
    NORMS,
    RANDOM,
    RAW,
    ROTATED,
    SHARES,
)
from core.studies.text_kit import (
    Estimate,
    Statement,
    estimate_of,
    listed,
    short_name,
    words_beside,
)

said = words_beside(__file__).sentence
HALFWAY = "excess of the loss halfway between the weights"
TASK = "excess of the task's score halfway between the weights"
MOVED = "the same of a random change as large"
BESIDE_BASE = "loss halfway between the base and a fine-tune, above the base's own"
EXCESS = {RAW: TASK, TURNED: MOVED}
TUNED, HALF = "the task's score of the fine-tune", "the task's score halfway"
MIDDLE = SHARES[MIDPOINT]
BEST = {
    ROTATED: "with units and heads matched and states rotated",
    MATCHED: "with units and heads matched",
}
RIVALS = {
    RANDOM: "with units and heads in random order",
    NORMS: "with the lengths of weights kept, too",
    FOLDED: "in the axes that were rotated, without the rotation",
}


def statements_of(
    paths: pd.DataFrame, scores: pd.DataFrame, losses: pd.DataFrame, base: str
) -> tuple[Statement, ...]:
    """State the excess of the loss of the mean of two models, for each kind of pair and way, and
    that of the task's score as they are and of a random change; of pairs without a loss, the task's
    scores, too; then what `base_statements` does. Tables are PATHS, SCORE_PATHS, BASE_LOSSES."""
    statements = [
        Statement(row["relation"], HALFWAY, estimate_of(row, "excess_loss"), baseline=row["order"])
        for row in paths[paths["share"] == MIDDLE].to_dict("records")
    ]
    lossy = set(paths.loc[paths["order"] == RAW, "relation"])
    for row in scores[scores["share"] == MIDDLE].to_dict("records"):
        about = {"baseline": row["order"], "metric": row["metric"]}
        if row["order"] in EXCESS:
            estimate = estimate_of(row, "excess_score")
            statements.append(Statement(row["relation"], EXCESS[row["order"]], estimate, **about))
        if row["order"] == RAW and row["relation"] not in lossy:
            same = scores[["relation", "order", "metric"]] == [row["relation"], RAW, row["metric"]]
            whole = scores[same.all(axis=1) & (scores["share"] == 0)].iloc[0]
            statements += [
                Statement(row["relation"], TUNED, estimate_of(whole, "score"), **about),
                Statement(row["relation"], HALF, estimate_of(row, "score"), **about),
            ]
    return (*statements, *base_statements(losses, base))


def base_statements(losses: pd.DataFrame, base: str) -> tuple[Statement, ...]:
    """State of BASE_LOSSES the fine-tune whose mean with the base loses least beside the base
    alone, and the one whose mean loses most."""
    rows = losses.sort_values("above_base", kind="stable").to_dict("records")
    return tuple(
        Statement(row["model"], BESIDE_BASE, estimate_of(row, "above_base"), baseline=base)
        for row in rows[:1] + rows[1:][-1:]
    )


def beside_base(statements: Sequence[Statement]) -> str:
    """Say what the mean of the base and a fine-tune loses beside the base alone; "" without one."""
    ends = [each for each in statements if each.verdict == BESIDE_BASE]
    if not ends:
        return ""
    name, losses = short_name(ends[0].baseline), " to ".join(each.number.text for each in ends)
    return f"Beside {name} alone, the mean of it and a fine-tune loses {losses}"


def make_headline(statements: Sequence[Statement]) -> str:
    """Say whether models of other origins have a barrier, and what the mean of two loses, of other
    origins and of one; then the same beside the base alone, in other orders, and the tasks'
    scores."""
    leads: list[str] = []
    rivals: list[str] = []
    several = len({each.subject for each in statements if each.verdict != BESIDE_BASE}) > 1
    for relation in (OTHER_ORIGINS, ONE_ORIGIN):
        facts = [each for each in statements if each.subject == relation]
        halfway = {each.baseline: each.number for each in facts if each.verdict == HALFWAY}
        if RAW not in halfway:
            leads += _without_loss(relation, facts)
            continue
        loss = halfway[RAW]
        if leads:
            leads.append(f"of {relation}, {_beside(loss)}")
        else:
            parted = loss.clear and loss.value > 0
            verdict = "have no detectable barrier in the loss: halfway it"
            verdict = "cannot: halfway the loss" if parted else verdict
            leads.append(f"Models of {relation} {verdict} is {_loss(loss)}")
        rivals += [
            f"{halfway[way].value_text} {text}{f' ({relation})' if several else ''}"
            for way, text in {**BEST, **RIVALS}.items()
            if way in halfway
        ]
    beside = beside_base(statements)
    parts = (
        f"{'; '.join(leads)}." if leads else "",
        f"{beside}." if beside else "",
        f"For comparison: {listed(rivals)}." if rivals else "",
        *_tasks(statements),
    )
    return " ".join(filter(None, parts))


def _without_loss(relation: str, facts: Sequence[Statement]) -> Iterator[str]:
    """Say what the mean of two models without a loss scores, task by task."""
    ends = {(each.metric, each.verdict): each.number for each in facts}
    for metric, half in ((name, ends[name, HALF]) for name, verdict in ends if verdict == HALF):
        whole, excess = ends[metric, TUNED], ends[metric, TASK]
        parted = excess.clear and excess.value < 0
        verdict = "cannot" if parted else "have no detectable barrier"
        yield f"Models of {relation} {verdict}: {metric} is {half.text} halfway " + (
            f"and {whole.value_text} at the fine-tune"
        )


def _tasks(statements: Sequence[Statement]) -> Iterator[str]:
    """Say what the mean of two models scores, metric by metric, and the same of a random change."""
    for metric in dict.fromkeys(each.metric for each in statements if each.verdict == TASK):
        numbers: dict[str, dict[str, Estimate]] = {TASK: {}, MOVED: {}}
        for each in statements:
            if each.metric == metric and each.verdict in numbers:
                numbers[each.verdict][each.subject] = each.number
        parts, mean, rival = [], "the mean of both ends", "a random change as large: "
        for relation, estimate in numbers[TASK].items():
            off = estimate.direction(f"above {mean}", f"below {mean}")
            if not estimate.clear:
                off = f"not detectably off {mean} ({estimate.text})"
            moved = numbers[MOVED][relation].direction("above", "below")
            parts.append(f"{off} between models of {relation} ({rival}{moved})")
            mean, rival = "it", ""
        yield f"Halfway, {metric} is {listed(parts)}."


def _loss(estimate: Estimate) -> str:
    if not estimate.clear:
        return f"not detectably above their mean ({estimate.text} nats)"
    mean = "nats {} their mean"
    return estimate.direction(mean.format("above"), mean.format("below"))


def _beside(estimate: Estimate) -> str:
    if not estimate.clear:
        return f"not detectably above ({estimate.text})"
    return estimate.direction("above", "below")


def make_methods(
    spec: BarrierSpec, scored: int, fitted: int, tasks: Sequence[str], truth: Iterable[str]
) -> str:
    """Write a methods paragraph, ready to paste: `scored` and `fitted` are numbers of sentences,
    `tasks` models whose task was scored, `truth` where right answers come from: labels, the text
    itself, a parse."""
    parts = (
        said(
            "joined", points=len(SHARES), scored=scored, corpus=spec.corpus, base=spec.base,
            fitted=fitted,
        ),
        said("task", models=listed(tasks), truth=listed(sorted(truth)), draws=DRAWN)
        if tasks else said("no_task"),
    )  # fmt: skip
    return " ".join(parts)


def make_notices(
    spec: BarrierSpec,
    values: Mapping[tuple[str, str], Value],
    ways: Mapping[tuple[str, str], Sequence[str]],
    scored: bool,
    heads: Collection[str],
) -> list[str]:
    """Say which pairs could not be matched by units and heads, that none was rotated, and what has
    no loss or no score; `heads` are the models whose head labels what is scored."""
    unmatched = [
        said(
            "unmatched", first=first, second=second,
            matched=" and ".join(value["ordered"]) or "neither units nor heads",
        )
        for (first, second), value in values.items()
        if MATCHED in ways[first, second] and len(value["ordered"]) < 2
    ]  # fmt: skip
    headless = [ref for ref in dict.fromkeys(spec.models) if ref not in heads]
    rotations = [bool(value["rotated"]) for pair, value in values.items() if ROTATED in ways[pair]]
    notices = (
        *unmatched,
        "" if all(rotations) else said("unrotated"),
        said("no_loss", base=spec.base) if scored and not values else "",
        said("headless", models=listed(headless)) if len(headless) > 1 else "",
    )
    return [*filter(None, notices)]
