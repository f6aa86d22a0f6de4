"""Prices of the alignment studies: maps between two spaces, fitted in both directions at every
layer.

Linear maps factor d by d matrices; kernel ridge factors a matrix of its rows; the two networks are
trained until they converge, with products by d by d matrices. Stitching runs the upper layers again
for every map and layer, and the published protocol trains networks four times as wide as d.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

from core.maths.evaluation.judging import JUDGED
from core.maths.maps.registry import METHODS
from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.alignment.published.rows import BATCH
from core.studies.alignment.published.spec import OURS_OF
from core.studies.alignment.seeds.tasks import GROUP, PARTS, SLOWEST
from core.text.labelled import count_labelled
from core.vectors.window import REACHES

if TYPE_CHECKING:
    from core.studies.alignment.attention.spec import AttentionSpec
    from core.studies.alignment.check.spec import CheckSpec
    from core.studies.alignment.published.spec import ProtocolSpec
    from core.studies.alignment.rotation.spec import RotationSpec
    from core.studies.alignment.seeds.spec import AlignSpec
    from core.studies.alignment.stitching.spec import StitchSpec

PRODUCTS, FACTORED = (
    2.2e-11,
    6e-10,
)  # processor seconds per multiplication, and per cubed width of a factorisation
SCORED = 6e-8  # per number of a row that is mapped and scored
STATIC_TRIES = 24  # kernels and penalties that a static window is tried with
KERNELS = 30  # factorisations in the search for a width and a penalty
SEARCHED, MOST_ROWS = 800.0, 4_000.0
# Processor seconds of training a network on included models (one map, layer and direction) on a
# processor without matrix units for bfloat16, and the power of the width with which they grow
# (where wide ones have AVX-512's products in bfloat16).
NETWORKS = {"inn": (3.4, 0.65), "mlp": (2.8, 0.4)}
BOX_WIDTH, BOX_ROWS, TRAINED = 128, 2_500.0, 0.7
STACKS, WIDE = 3.0, 2.0  # copies of all rows of both directions: in single precision, and in double
# Bytes per number of both models: of all layers, which are read, and of those mapped at once, by
# networks and by other maps.
READ, TRAINING, MAPPING = 6.8, 30.0, 20.0
GRIDDED = 6  # products of a row per map of a layer into a layer; decompositions are shared
KEPT = 25_000  # bytes stored per map, pair and layer
COPIES_READ = 2  # of the vectors of all layers, in single precision
PLANTED = 2  # maps fitted to a planted rotation, and copies of the rows that it takes
BLOCKS = 4  # numbers of blocks of a known bijection
# Sentences that are stitched at once, their length over the mean's as they are padded, rows of them
# that are mapped at once, and copies of these that a network makes
STITCHED, LONGEST, MAPPED_ROWS, BY_NETWORK = 64, 2.0, 512, 6
PADDED = 3  # copies of the states of a batch of padded sentences
ADAM = 4e-9  # processor seconds of an Adam step per weight
FITS, PUBLISHED = (
    {"models": 5, "tuned": 1},
    17,
)  # fits of the protocol; weights of its networks, in units of d squared


def align_price(spec: AlignSpec) -> Price:
    """Price the main study: every map of every pair, in both directions, at all layers."""
    sizes = costs.sizes_of(ref for group in spec.groups.values() for ref in group)
    pairs = [
        (spec.methods_of(group), source, target)
        for group, source, target in spec.pairs()
        if source in sizes and target in sizes
    ]
    sentences = costs.sentences_of(spec)
    rows = sentences * (costs.WORDS if spec.items == "words" else 1)
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    memory = kept = 0.0
    for number, (methods, source, target) in enumerate(pairs):
        width = max(sizes[source].d_model, sizes[target].d_model)
        states = len(spec.layers) or min(sizes[source].layers, sizes[target].layers) + 1
        tasks += fitting(methods, width, rows, 2 * states, parts=1 if states == 1 else PARTS)
        if spec.grid and not number:
            maps = (sizes[source].layers + 1) * (sizes[target].layers + 1)
            tasks.append(maps * PRODUCTS * GRIDDED * rows * width**2)
        at_once = min(TASKS_AT_ONCE, len(pairs) * _tasks(methods))
        read = min(sizes[source].layers, sizes[target].layers) + 1
        memory = max(memory, at_once * _mapped(2 * rows * width, read, states, methods))
        kept += KEPT * len(methods) * states
    kept += sum(costs.stored(size, sentences) for size in sizes.values())
    work = f"{costs.counted(len(pairs), 'pair')} of {costs.counted(len(sizes), 'model')}"
    return costs.price_of(sizes, tasks, memory + costs.resident(sizes), store=kept, work=work)


def attention_price(spec: AttentionSpec) -> Price:
    """Price the attention study: matched heads and mapped attention outputs."""
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    rows, entries = sentences * costs.SUBWORDS, sentences * costs.SUBWORDS**2 * 1.3
    tasks, memory = [costs.STARTING], 0.0
    pairs = [(source, target) for source in sizes for target in sizes if source != target]
    for pair in pairs:
        width, layers = (
            max(sizes[ref].d_model for ref in pair),
            max(sizes[ref].layers for ref in pair),
        )
        heads = layers * max(1.0, width / 64)
        work = sum(costs.opening(sizes[ref]) + costs.passing(sizes[ref], sentences) for ref in pair)
        work += PRODUCTS * 2 * entries * heads**2 + 2e-8 * entries * heads
        tasks.append(work + sum(fitting(spec.methods, width, rows, layers)))
        held = 2 * entries * heads * 3 + 2 * layers * rows * width * 2
        memory = max(memory, min(TASKS_AT_ONCE, len(pairs)) * held * costs.DOUBLE)
    return costs.price_of(
        sizes,
        tasks,
        memory + costs.resident(sizes, whole=True),
        work=costs.counted(len(pairs), "ordered pair"),
    )


def rotation_price(spec: RotationSpec) -> Price:
    """Price the test of rotations: four linear maps of every pair, and two of each planted
    rotation."""
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    rows = sentences * (costs.WORDS if spec.items == "words" else 1)
    pairs = list(combinations(sizes.values(), 2))
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    memory = 0.0
    for pair in pairs:
        width, states = max(size.d_model for size in pair), min(size.layers for size in pair) + 1
        tasks.append((4 + PLANTED * spec.draws) * _linear(2 * states, width, rows))
        memory = max(memory, PLANTED * _stacked(2 * states * rows * width, ("ridge",)))
    memory *= min(TASKS_AT_ONCE, len(pairs))
    work = costs.counted(len(pairs), "pair")
    return costs.price_of(sizes, tasks, memory + costs.resident(sizes), work=work)


def stitching_price(spec: StitchSpec) -> Price:
    """Price stitching: every map at every layer, and the layers above it for every labelled
    sentence."""
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    rows, labelled = sentences * costs.SUBWORDS, count_labelled(spec.labelled)
    tasks, memory = [costs.STARTING], 0.0
    for upper in sizes.values():
        for lower in sizes.values():
            width, states = max(upper.d_model, lower.d_model), upper.layers + 1
            work = sum(
                costs.opening(size) + costs.passing(size, sentences + labelled)
                for size in (upper, lower)
            )
            work += costs.passing(upper, labelled, len(spec.methods) * states / 2)
            tasks.append(work + sum(fitting(spec.methods, width, rows, states)))
            fitted = 3 * 2 * rows  # rows of both models, and copies of those of training
            padded = 2 * STITCHED * LONGEST * costs.SUBWORDS
            stitched = 2 * 2 * rows + padded + BY_NETWORK * MAPPED_ROWS
            held = states * width * costs.DOUBLE * max(fitted, stitched)
            held += costs.SINGLE * (upper.parameters + lower.parameters)
            memory = max(memory, TASKS_AT_ONCE * held)
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(sizes) ** 2, "ordered pair"))


def check_price(spec: CheckSpec) -> Price:
    """Price the bijection check: every map undoes every form of bijection with every number of
    blocks."""
    sizes, sentences = costs.sizes_of((spec.model,)), costs.sentences_of(spec)
    rows = sentences * (costs.WORDS if spec.items == "words" else 1)
    tasks, memory, truths = [costs.STARTING], 0.0, BLOCKS * len(spec.truths)
    for size in sizes.values():
        tasks += [
            costs.vectors(size, sentences),
            *fitting(spec.methods, size.d_model, rows, truths),
        ]
        held = (
            truths * rows * size.d_model * 3
            + COPIES_READ * (size.layers + 1) * rows * size.d_model / 2
        )
        memory = min(TASKS_AT_ONCE, _tasks(spec.methods)) * held * costs.DOUBLE
    return costs.price_of(
        sizes,
        tasks,
        memory + costs.resident(sizes),
        work=costs.counted(truths * len(spec.methods), "map"),
    )


def protocol_price(spec: ProtocolSpec) -> Price:
    """Price the published protocol: its fits of both pairs, and our maps of the same pairs."""
    sizes, sentences = (
        costs.sizes_of(ref for pair in spec.groups.values() for ref in pair),
        costs.sentences_of(spec),
    )
    rows, tasks, memory = sentences * costs.WORDS, [costs.STARTING], 0.0
    for group, refs in spec.groups.items():
        pair = [sizes[ref] for ref in refs if ref in sizes]
        if len(pair) < 2:
            continue
        width, states = max(size.d_model for size in pair), max(size.layers for size in pair) + 1
        padded = spec.length / costs.SUBWORDS
        reading = sum(
            2 * (costs.opening(size) + costs.passing(size, sentences * padded)) for size in pair
        )
        step = (
            states * PUBLISHED * 2 * width**2 * 64 * 3 * PRODUCTS
            + states * PUBLISHED * 2 * width**2 * ADAM
        )
        tasks += [reading + spec.steps * step] * (FITS[group] - 1)
        tasks += [reading + sum(fitting(("inn", "ridge", "mlp"), width, sentences, 2 * states))]
        tasks += [costs.vectors(size, sentences) for size in pair]
        tasks += fitting(OURS_OF[group], width, rows, 2 * states, parts=PARTS)
        networks = PUBLISHED * 2 * width**2 * states * costs.SINGLE * 4
        passing = PADDED * BATCH * spec.length * states * width * costs.SINGLE
        ours = _mapped(2 * rows * width, states, states, OURS_OF[group])
        memory = max(memory, TASKS_AT_ONCE * max(networks, passing, ours))
    return costs.price_of(
        sizes,
        tasks,
        memory + costs.resident(sizes, whole=True),
        work=costs.counted(len(spec.groups), "pair"),
    )


def fitting(
    methods: Iterable[str], width: int, rows: float, maps: float, parts: int = 1
) -> list[float]:
    """Estimate the processor seconds of each task that fits maps: linear ones and controls
    together, others alone.

    Args:
        methods: Names in the registry.
        width: Of both spaces.
        rows: Paired rows, training and test.
        maps: Number of layers, directions and forms that are fitted together.
        parts: Tasks among which the layers of the slowest map are shared out.
    """
    names = [*methods]
    by_kind = {
        kind: [name for name in names if METHODS[name].kind == kind]
        for kind in ("non-linear", "static")
    }
    quick = sum(
        _linear(maps, width, rows) for name in names if METHODS[name].kind in ("control", "linear")
    )
    tasks = []
    for name in by_kind["non-linear"]:
        count = parts if (name,) == SLOWEST else 1
        tasks += [_trained(name, width, rows) * maps / count] * count
    static = sum(_static(name, width, rows, maps) for name in by_kind["static"])
    return [*tasks, *([quick] if quick else []), *([static] if static else [])]


def _static(name: str, width: int, rows: float, maps: float) -> float:
    """Processor seconds of a map from the static window: one factorisation serves all layers of a
    direction."""
    if name == "state-and-window":
        return _trained("kernel", 2 * width, rows) * maps
    fitted = min(TRAINED * rows, MOST_ROWS)
    searched = min(fitted, SEARCHED)
    tries = STATIC_TRIES * (len(REACHES) if name == "static-window" else 1)
    chosen = 2 * tries * searched**2 * (searched / 3) + tries * searched**2 * width * maps
    return PRODUCTS * (
        chosen
        + 3 * 2 * fitted**2 * fitted / 3
        + (3 * fitted + _judged(width, rows)) * fitted * width * maps
    )


def _linear(maps: float, width: int, rows: float) -> float:
    """Processor seconds of linear maps: moments, a factorisation, and the scores."""
    scores = SCORED * _judged(width, rows) * width
    return maps * (PRODUCTS * 4 * rows * width**2 + FACTORED * width**3 + scores)


def _trained(name: str, width: int, rows: float) -> float:
    """Processor seconds of one non-linear map."""
    if name == "kernel":
        fitted = min(TRAINED * rows, MOST_ROWS)
        searched = min(fitted, SEARCHED)
        factors = KERNELS * searched**2 * (searched / 3 + width) + 3 * fitted**2 * (
            fitted / 3 + 2 * width
        )
        mapped = _judged(width, rows)
        return PRODUCTS * (factors + fitted * mapped * 2 * width) + SCORED * mapped * (
            width + fitted
        )
    seconds, power = NETWORKS[name]
    return float(
        seconds * (width / BOX_WIDTH) ** power * min(max(rows / BOX_ROWS, 0.25), 2.0) ** 0.5
    )


def _judged(width: int, rows: float) -> float:
    """Rows that a map is scored on: those of the test, and of the training `JUDGED` numbers."""
    return min(TRAINED * rows, JUDGED / width) + (1 - TRAINED) * rows


def _tasks(methods: Iterable[str]) -> int:
    """Tasks of one pair."""
    kinds = [METHODS[name].kind for name in methods]
    return (
        kinds.count("non-linear")
        + any(kind in ("control", "linear") for kind in kinds)
        + ("static" in kinds)
    )


def _mapped(numbers: float, read: int, mapped: int, methods: Iterable[str]) -> float:
    """Bytes of memory of a task that maps a few of its layers at a time, each of so many numbers in
    both models."""
    at_once = max(1.0, min(mapped, GROUP // (numbers * costs.SINGLE)))
    trained = any(name in NETWORKS for name in methods)
    return numbers * (READ * read + (TRAINING if trained else MAPPING) * at_once)


def _stacked(numbers: float, methods: Iterable[str]) -> float:
    """Bytes of memory of a task with so many numbers in both directions."""
    quick = any(METHODS[name].kind in ("control", "linear") for name in methods)
    return numbers * (STACKS * 2 * costs.SINGLE + (WIDE * costs.DOUBLE if quick else costs.DOUBLE))
