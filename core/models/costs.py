"""The cost model behind every study's price, measured on one core (see `benchmarks/prices.py`).

A task's cost is its processor seconds and its peak memory; it is declared where the task is. What
tasks of all studies do (models opened, texts read, vectors kept) is estimated here, and so is the
price of a study, the sum over the tasks that it plans. No weights are fetched: sizes are asked of
headers and configurations.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import replace

from core.errors import ModelError, PalimpsestError, counted
from core.models.loading.reading import HELD, PASSED, is_always_layerwise
from core.models.precision import HALF
from core.models.precision import SINGLE as IN_SINGLE
from core.models.sizes import Size, size_of, was_downloaded
from core.runs.price import Cost, Price, on_this_machine, wall_seconds
from core.runs.process.cores import TASKS_AT_ONCE
from core.runs.process.second import helps
from core.runs.runner import Failure, Outputs
from core.runs.tasks import Task

SINGLE, DOUBLE = 4.0, 8.0  # bytes of a number
DEMO, GENRES = 1_450.0, 10  # sentences of the demo, and its genres of equal size
GOLD = 60.0  # sentences of demo-gold
WORDS, SUBWORDS = 14.3, 21.0  # per sentence of the demo, subwords with special tokens
NUMPY, TORCH = 0.2, 0.45  # gigabytes of memory before any model: without torch, and with it
STARTING = 5.6  # processor seconds to import torch, transformers and scientific packages
STARTING_TASK = 0.02  # processor seconds that any task takes
STARTING_LIGHT = 1.0  # processor seconds to import numpy and what reads weights
OPENING, LOADING = 0.15, 1.2e-8  # processor seconds to open a model, and per parameter loaded
PASSING, BESIDE = 2e-11, 4e-8  # processor seconds per multiplication; per number of a state
# Of models that are read layer by layer, one of 1.24 billion parameters measured: readings of the
# layers before the text, to check them; processor seconds per parameter to read the layers once,
# and per parameter and token of a pass, by its precision
CHECKS, REREAD = 2.0, 2.5e-9
PASSED_BY_LAYER = {IN_SINGLE: 2.6e-11, HALF: 6.4e-12}
BYTES = {IN_SINGLE: SINGLE, HALF: SINGLE / 2}
TURNED = 8e-11  # processor seconds per cubed width of a matrix that is rotated
PARSING = 4e-3  # processor seconds per sentence
WIDER = 4  # sides of a layer's two feed-forward matrices; its four others are square
FEED_FORWARD = "ff"  # prefix of these two families' names
HELD_MATRICES = 5  # copies of a task's largest matrix in memory
READ, SKETCHED = 4e-8, 5e-8  # per number to read and hash a matrix, and to sketch it twice
READING = 2e-9  # processor seconds to store a number of a sentence's vectors and to read it back


def count_sentences(corpus: str, genres: Sequence[str], limit: float) -> float:
    """Count the sentences of these genres up to a limit; all of them if none is named."""
    ref, _, named = corpus.partition(":")
    if corpus == "demo-gold":
        return min(float(limit), GOLD)
    if ref != "demo":
        return float(limit)
    included = len(named.split(",")) if named else len(genres)
    return min(float(limit), DEMO * included / GENRES if included else DEMO)


class Sizes(dict[str, Size]):
    """Sizes by reference, each looked up when it is first asked for.

    Revisions of one Hub model are taken to be as large as the first that had to be asked for: a run
    has hundreds.
    """

    def __init__(self) -> None:
        super().__init__()
        self._of_run: dict[str, Size] = {}

    def __missing__(self, ref: str) -> Size:
        """Look up a size; raises ModelError as `size_of` does."""
        run, at, revision = ref.partition("@") if ref.startswith("hub:") else (ref, "", "")
        if run in self._of_run and at and not was_downloaded(run, revision):
            size = self._of_run[run]
        else:
            size = size_of(ref)
            if at and size.download:
                self._of_run[run] = size
        self[ref] = size
        return size


def sizes_of(refs: Iterable[str]) -> Sizes:
    """Look up sizes by reference; models that are not available are left out."""
    sizes = Sizes()
    for ref in dict.fromkeys(refs):
        with suppress(ModelError):
            sizes[ref]
    return sizes


def reading(
    sizes: Mapping[str, Size], refs: Iterable[str], sentences: Sized, *read: Hashable
) -> dict[Hashable, Cost]:
    """Estimate what tasks share that need vectors of a text: each model reads it once."""

    def cost(size: Size) -> Cost:
        count = len(sentences)
        return Cost(vectors(size, count), resident({"": size}, count), stored(size, count))

    return {(ref, sentences, *read): cost(sizes[ref]) for ref in refs}


def shape_of(sizes: Mapping[str, Size], *refs: str) -> tuple[int, int]:
    """Return the width of the widest model, and the fewest layers, with the embeddings."""
    return max(sizes[ref].d_model for ref in refs), min(sizes[ref].layers for ref in refs) + 1


def rows_of(sentences: Sized, items: str) -> float:
    """Count the rows that a text has in a space: its words, or its sentences."""
    return len(sentences) * (WORDS if items == "words" else 1)


def is_large(size: Size) -> bool:
    """Whether a model is so large that its layers, if they can be run alone, are read from the disk
    one at a time."""
    return is_always_layerwise(size.parameters, size.model_type)


def opening(size: Size) -> float:
    """Estimate processor seconds to load a model."""
    return OPENING + LOADING * size.parameters


def passing(
    size: Size, sentences: float, passes: float = 1.0, *, precision: str = IN_SINGLE
) -> float:
    """Estimate processor seconds of forward passes, each through all layers, over sentences like
    the demo's; the precision is that of a large model, small ones run in float32."""
    tokens = SUBWORDS * sentences * passes
    if is_large(size):
        return tokens * PASSED_BY_LAYER[precision] * size.parameters
    return tokens * size.layers * size.d_model * (12 * PASSING * size.d_model + BESIDE)


def running(size: Size, sentences: float, passes: float = 1.0, loads: int = 1) -> float:
    """Estimate processor seconds to load a model so often, and run sentences through it."""
    return loads * opening(size) + passing(size, sentences, passes)


def vocabulary(size: Size) -> float:
    """Estimate the tokens that a model predicts, from its parameters outside the layers."""
    return max(size.parameters - 12 * size.layers * size.d_model**2, 0) / size.d_model


def states(size: Size, sentences: float) -> float:
    """Estimate processor seconds to load a model and compute its hidden states of sentences."""
    times = max(1.0, _numbers(size, sentences) * SINGLE / HELD)
    passed = passing(size, sentences, precision=size.precision)
    return opening(size) + _rereading(size, times) + passed


def vectors(size: Size, sentences: float) -> float:
    """Estimate processor seconds to read sentences with a model and store the vectors."""
    return states(size, sentences) + READING * _numbers(size, sentences)


def turning(size: Size) -> float:
    """Estimate processor seconds to rotate a fine-tune's change at random."""
    return size.layers * 12 * TURNED * float(size.d_model) ** 3


def passes(size: Size, sentences: float, each: float = 1.0, least: float = 1.0) -> float:
    """Estimate processor seconds to load a model with its head and run sentences through it, `each`
    times; a large model reads its layers for each of at `least` so many batches."""
    run = passing(size, sentences, each)
    if not is_large(size):
        return opening(size) + run
    times = max(least, SUBWORDS * sentences * each * size.d_model / PASSED)
    return opening(size) + _rereading(size, times) + run


def _rereading(size: Size, times: float) -> float:
    """Estimate processor seconds to check a large model's layers and to read them again."""
    return (CHECKS + times) * REREAD * size.parameters if is_large(size) else 0.0


def _numbers(size: Size, sentences: float) -> float:
    """Count the numbers of the vectors of all words."""
    return (size.layers + 1) * size.d_model * WORDS * sentences


def stored(size: Size, sentences: float) -> float:
    """Estimate the bytes that the vectors of all words take in the store."""
    return 2.0 * _numbers(size, sentences)


def resident(
    sizes: Mapping[str, Size],
    sentences: float = math.inf,
    *,
    whole: bool = False,
    head: bool = False,
) -> float:
    """Estimate the bytes of the largest model, of which one is in memory at a time, in float32
    without vectors where it has its `head`."""
    return max((_held(size, sentences, whole, head) for size in sizes.values()), default=0.0)


def _held(size: Size, sentences: float, whole: bool, head: bool) -> float:
    """Estimate the bytes that one model takes."""
    if whole or not is_large(size):
        return SINGLE * size.parameters
    all_layers = BYTES[IN_SINGLE if head else size.precision] * size.parameters
    text = 0.0 if head else min(float(HELD), SINGLE * _numbers(size, sentences))
    return min(all_layers, 2 * all_layers / size.layers + text)


def matrices_of(size: Size, families: Sequence[str]) -> list[tuple[tuple[int, int], float]]:
    """Shapes and numbers of a model's matrices, as in a BERT of this width and depth."""
    wide = sum(FEED_FORWARD in family for family in families) if families else 2
    square = len(families) - wide if families else 4
    width = size.d_model
    return [((width, width), square * size.layers), ((width, WIDER * width), wide * size.layers)]


def bytes_of_largest(size: Size) -> float:
    """Bytes that a task holds which reads a model's matrices one by one."""
    return HELD_MATRICES * WIDER * size.d_model**2 * DOUBLE


def cubed_side(shape: tuple[int, int]) -> float:
    """Cube of a matrix's shorter side, which its decomposition grows by; more for a long one."""
    return float(min(shape)) ** 3 * (1 + 0.1 * (max(shape) / min(shape) - 1))


def price_tasks(tasks: Sequence[Task], sizes: Sizes, *collected: Cost) -> Price:
    """Sum up the price of planned tasks and of what is `collected` from their outputs. Raises
    ModelError if a model cannot be found."""
    each = [task.cost(sizes) for task in tasks]
    parts = (part for cost in each for part in cost.shared.items())
    # Of what tasks share, the one that needs the most memory counts: the last of equal keys.
    shared = dict(sorted(parts, key=lambda part: part[1].memory))
    costs = [*each, *shared.values(), *collected]
    starting = {True: STARTING, False: STARTING_LIGHT}
    seconds = [starting[torch] for torch in {cost.torch for cost in costs}]
    # a process, which loads the libraries too
    second = bool(helps(dict(enumerate(map(_with_shared, each)))))
    seconds += [cost.seconds for cost in costs] + [STARTING] * second
    at_once = heapq.nlargest(TASKS_AT_ONCE, (cost.memory for cost in each))
    peak = (
        sum(at_once)
        + (1 + second) * max((cost.memory for cost in shared.values()), default=0.0)
        + sum(cost.memory for cost in collected)
    )
    libraries = TORCH if any(cost.torch for cost in costs) else NUMPY
    fetched = max((cost.fetched for cost in each), default=1.0)
    return Price(
        seconds=on_this_machine(wall_seconds(seconds)),
        memory=libraries * (1 + second) + peak / 1e9,
        download=fetched * sum(size.download for size in sizes.values()) / 1e9,
        store=sum(cost.store for cost in costs) / 1e9,
        work=f"{counted(len(tasks), 'task')} on {counted(len(sizes), 'model')}",
        measured=all(size.asked for size in sizes.values()),
        processor=sum(seconds),
    )


def expected_costs(tasks: Sequence[Task]) -> dict[str, Cost]:
    """Estimate what tasks take, by key; the seconds of what several share are counted at the first,
    which computes it. A task that declares no cost, or whose model has no size, is left out."""
    sizes, expected, shared = Sizes(), dict[str, Cost](), dict[Hashable, Cost]()
    for task in (task for task in tasks if task.is_priced):
        with suppress(ModelError):
            cost = task.cost(sizes)
            first = [cost.shared[key].seconds for key in cost.shared.keys() - shared.keys()]
            seconds = STARTING_TASK + cost.seconds + sum(first)
            expected.setdefault(task.key, replace(_with_shared(cost), seconds=seconds))
            shared.update(cost.shared)
    return expected


def _with_shared(cost: Cost) -> Cost:
    """The same with the memory of what the task shares with others."""
    held = max((part.memory for part in cost.shared.values()), default=0.0)
    return replace(cost, memory=cost.memory + held)


def expected_outputs(tasks: Sequence[Task], sizes: Sizes) -> Outputs:
    """Return what stands for the outputs of a first stage where only sizes are known."""
    values, failures = {}, {}
    for task in tasks:
        try:
            values[task.role] = task.expected(sizes)
        except PalimpsestError as error:
            failures[task.role] = Failure(task.name, str(error), error)
    return Outputs(values, failures)
