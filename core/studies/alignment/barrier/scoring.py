"""The pure task of the scores: the task of a fine-tune along straight lines between two networks'
weights.

The line of both bodies is written under the fine-tune's head, as `core.vectors.examples` scores it.
The rival moves the fine-tune as far in a random direction; where heads are interpolated, too,
another keeps one of them.

Reference: Frankle et al. 2020. Deviation: where one of the two has a head for the task, it stays as
it is along the line.

The task's value holds `total` (sentence,), how many answers there are, and the right ones with
shares of the other model as in `SHARES`: `hits` (way, share, sentence), -1 for a way that is not
possible; `random` (draw, share, sentence), from the fine-tune to where a random change leads; and
where heads are interpolated `kept` (share, sentence), with the first one's along the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import ModelError
from core.models.loading.task_models import load_task
from core.studies.alignment.barrier.tasks import (
    COPIES,
    RAW,
    SHARES,
    ends_of,
    have_heads,
    open_both,
    shapes_of,
    write_point,
)
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick
from core.vectors.examples import Pairs, batches, count_hits, encode

if TYPE_CHECKING:
    from core.models.loading.task_models import TaskModel
    from core.studies.alignment.barrier.matching import Weights

TURNED, KEPT = "random change", "one head"
POINTS = range(len(SHARES))
DRAWN = 3  # random changes of each line
WRITTEN = 2e-9  # processor seconds per number of a model to write a point of a line


def _cost(
    sizes: Mapping[str, Size], model: str, other: str, base: str, pairs: Pairs, sentences: Words,
    ways: tuple[str, ...], draws: int, interpolated: bool, **_: Any,
) -> Cost:  # fmt: skip
    size = sizes[model]
    points = len(ways) * (len(SHARES) - 2) + 2 + (draws + interpolated) * (len(SHARES) - 1)
    opened = 2 * (costs.opening(size) + costs.opening(sizes[other]) + costs.opening(sizes[base]))
    moved = WRITTEN * size.parameters * (points + draws) + costs.turning(size) * draws
    read = costs.passing(size, len(sentences) / 2, 2) if len(ways) > 1 else 0.0
    passed = costs.passing(size, len(pairs), points)
    return Cost(opened + moved + read + passed, costs.SINGLE * (COPIES + 4) * size.parameters)


@pure("alignment.barrier_score", guard=as_identified, cost=_cost)
def score_line(
    model: str,
    other: str,
    base: str,
    model_identity: str,
    other_identity: str,
    base_identity: str,
    interpolated: bool,
    pairs: Pairs,
    sentences: Words,
    ways: tuple[str, ...],
    draws: int,
    seed: int,
) -> Value:
    """Count the right answers of a fine-tune's head from the fine-tune to another model, whose own
    head for the same labels is `interpolated`, too; without a base that predicts tokens, nothing is
    matched. Raises ModelError as `measure_barrier`, or if the heads have other shapes."""
    with span(0.0, 0.1):
        asked = have_heads(model, other, base)
        ask, left, right = open_both(model, other, base, asked)
        task = load_task(model)
        heads = _heads_of(task, other if interpolated else "")
    encoded = encode(task.tokenizer, task.head, pairs, task.tokenizer.longest)
    lines, read = len(ways) + draws + interpolated, tuple(batches(encoded))
    names = _names_of_both(task.model, left.model)
    shape = (len(SHARES), len(encoded.total))
    hits, random = (np.full((n, *shape), -1, dtype=np.int64) for n in (len(ways), draws))

    def count_along(
        place: int, way: str, start: Weights, end: Weights, row: np.ndarray, points: range
    ) -> None:
        for number in points:
            done = (place + number / len(SHARES)) / lines
            tick(0.1 + 0.9 * done, f"{way}, {SHARES[number]:.0%} of the other model")
            write_point(task.model, start, end, SHARES[number])
            row[number] = count_hits(task.model, encoded, read)

    possible = ways if asked else (RAW,)  # what is matched predicts tokens
    fitted = ask(left, sentences[1::2]) if len(possible) > 1 else ()
    raw, line = ways.index(RAW), heads  # of the two as they are
    for place, (way, *ends) in enumerate(ends_of(left, right, possible, fitted, seed, {})):
        row, points = hits[ways.index(way)], POINTS
        first, second = (
            {**head, **{mine: weights[theirs] for mine, theirs in names.items()}}
            for head, weights in zip(heads, ends, strict=True)
        )
        if way == RAW:
            line = (first, second)
        else:  # no way changes what the models themselves compute
            row[[0, -1]], points = hits[raw][[0, -1]], POINTS[1:-1]
        count_along(place, way, first, second, row, points)
    for draw, row in enumerate(random):
        row[0] = hits[raw, 0]
        moved = {**line[0], **_turned(*line, names, seed + draw)}
        count_along(len(ways) + draw, TURNED, line[0], moved, row, POINTS[1:])
    value: Value = {"total": encoded.total, "hits": hits, "random": random}
    if interpolated:
        value["kept"] = np.repeat(hits[raw, :1], len(SHARES), axis=0)
        moved = {**line[0], **{name: line[1][name] for name in names}}
        count_along(len(ways) + draws, KEPT, line[0], moved, value["kept"], POINTS[1:])
    return value


def _names_of_both(model: Any, other: Any) -> dict[str, str]:
    """Name the weights of the bodies of two models, as both have them."""
    from core.models.loading.layers import body_weights

    named = []
    for each in (model, other):
        whole = {id(weight): name for name, weight in each.named_parameters()}
        named.append({name: whole[id(weight)] for name, weight in body_weights(each).items()})
    return {mine: named[1][name] for name, mine in named[0].items() if name in named[1]}


def _heads_of(task: TaskModel, other: str) -> tuple[Weights, Weights]:
    """Copy a model's weights, and those of the other that has a head for the same labels; of "" the
    model's own once more. Raises ModelError if the heads have other shapes."""
    from core.studies.alignment.barrier.matching import copied

    first = copied(task.model)
    second = copied(load_task(other).model) if other else first
    if shapes_of(first.items()) != shapes_of(second.items()):
        raise ModelError(
            f"The heads of {task.ref} and {other} have weights of other names or shapes, so "
            "nothing lies between them: choose models with heads of one kind and size."
        )
    return first, second


def _turned(start: Weights, end: Weights, names: Iterable[str], seed: int) -> Weights:
    """Move the weights of the body as far in a random direction as the end is."""
    import torch

    from core.vectors.turning import turn_change

    drawn = torch.Generator().manual_seed(seed)
    return {name: start[name] + turn_change(name, end[name] - start[name], drawn) for name in names}
