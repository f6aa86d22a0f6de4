"""Prices of the weight studies: singular value decompositions of updates and random updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from core.errors import ModelError
from core.maths.spectra.directions import SMALL
from core.maths.spectra.products import HELD as HELD_PRODUCTS
from core.models import costs
from core.models.references import is_pattern
from core.models.sizes import Size, is_adapter, size_of_adapter
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.weights.activations import SENTENCES
from core.studies.weights.clusters.members import EVERY, find_members
from core.studies.weights.intruders.scales import SCALES
from core.studies.weights.intruders.tasks import LARGE_DRAWS, PARTS

if TYPE_CHECKING:
    from core.studies.weights.clusters.spec import WeightsSpec
    from core.studies.weights.intruders.spec import IntruderSpec
    from core.studies.weights.lineage.spec import LineageSpec

STARTING, MAPS = 1.0, {"umap": 25.0, "tsne": 3.0}  # processor seconds
WIDER = 4  # sides of a layer's two feed-forward matrices; its four others are square
FEED_FORWARD = "ff"  # prefix of these two families' names
# processor seconds per cubed side of a matrix, and per permutation and pair of models
FACTORED, PERMUTED = 3.6e-10, 6e-8
DRAWN = 2e-8  # per number of a random update of a small matrix
LED = 6e-10  # per cubed side for its leading directions
NOISY = 1.1e-5  # per side of a large matrix for a random update and its leading directions
TURNED = 3e-10  # per cubed side for the singular values of a matrix and its update
TURN = 1.6e-10  # per cubed side for a turned update and its leading directions
BASE = 5e-10  # per cubed side for the decomposition of the base
HELD = 10  # copies of the largest matrix in memory
SCORED, MASKED_PASSES = 300, 420  # sentences of a scored task, and those with masked subwords
COPIES = 4  # of a model whose directions are scaled: with its head, the base's, originals, merged
HEADER = 0.01  # processor seconds to open a model for reading
READ, SKETCHED = 4e-8, 5e-8  # per number to read and hash a matrix, and to sketch it twice
MULTIPLIED = 2 * (costs.SINGLE + costs.DOUBLE)  # bytes of a number as it is and with rows permuted
PRODUCT = 4e-10  # per number of a model and other model
KEPT = 2**14 + 4_000  # numbers stored per matrix


def weights_price(spec: WeightsSpec) -> Price:
    """Price the main study: every matrix of every fine-tune is decomposed once."""
    named = [pattern for pattern in spec.models if not (spec.tree and pattern == EVERY)]
    bases = _bases_of(spec.base, named, spec.own_bases)
    sizes, adapters = _sizes(spec.base, bases)
    models = [sizes[ref] for ref in bases if ref in sizes and ref not in adapters]
    models += [sizes[spec.base]] * spec.tree if spec.base in sizes else []
    here = [*models, *(sizes[ref] for ref in adapters)]
    pairs = len(here) ** 2 / 2
    tasks = [STARTING + MAPS.get(spec.map, 0.0) + PERMUTED * spec.permutations * pairs]
    tasks += [costs.OPENING + _decomposed(sizes[ref], spec.families, True) for ref in adapters]
    for size in models:
        once = costs.OPENING + _decomposed(size, spec.families)
        tasks += [once] * (2 if spec.of != "delta" else 1)
    numbers = sum(KEPT * 6 * size.layers for size in here)
    memory = _largest(here) + numbers * costs.SINGLE
    if spec.reads_states:
        run = [*models, *([sizes[spec.base]] if spec.base in sizes else [])]
        tasks += [costs.STARTING, *(costs.vectors(size, SENTENCES) for size in run)]
        memory = max(memory, costs.resident(sizes, SENTENCES))
    listed = (
        sizes[spec.base].parameters * costs.SINGLE / 1e9 * spec.tree if spec.base in sizes else 0.0
    )
    return costs.price_of(
        sizes,
        tasks,
        memory,
        libraries=costs.TORCH if spec.reads_states else costs.NUMPY,
        store=numbers * costs.SINGLE,
        more_download=listed,
        work=costs.counted(len(here), "fine-tune"),
    )


def intruders_price(spec: IntruderSpec) -> Price:
    """Price the intruder experiment: every random update of every matrix is decomposed."""
    bases = _bases_of(spec.base, spec.models)
    sizes, _ = _sizes(spec.base, bases)  # an adapter's product is decomposed as any update is
    here = [sizes[ref] for ref in bases if ref in sizes]
    tasks = [STARTING]
    for size in here:
        once = sum(
            number * _changed(shape, spec.draws) for shape, number in _matrices(size, spec.families)
        )
        tasks += [costs.OPENING + once / PARTS] * PARTS
        tasks.append(
            costs.OPENING
            + sum(
                number * _turned(shape, spec.draws)
                for shape, number in _matrices(size, spec.families)
            )
        )
    memory = _largest(here * PARTS) + sum(
        6 * size.layers * spec.draws * spec.leading * costs.SINGLE for size in here
    )
    if not spec.scaling:
        return costs.price_of(
            sizes, tasks, memory, libraries=costs.NUMPY, work=costs.counted(len(here), "fine-tune")
        )
    tasks += [costs.STARTING, *(_scaled(size, spec.removals) for size in here)]
    largest = max((size.parameters for size in here), default=0)
    memory += COPIES * min(TASKS_AT_ONCE, len(here)) * largest * costs.SINGLE
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(here), "fine-tune"))


def lineage_price(spec: LineageSpec) -> Price:
    """Price the lineage: every matrix is read from every model, once, and multiplied."""
    sizes = costs.sizes_of(spec.refs)
    here = list(sizes.values())
    most = HELD_PRODUCTS / max(1, len(here))
    seconds, largest = STARTING, 0
    for size in here:
        for (rows, columns), number in _matrices(size, spec.families):
            count = rows * columns
            largest = max(largest, count)
            each = READ * count + SKETCHED * count * (count > most)
            seconds += number * (each + PRODUCT * min(count, most) * len(here))
    return costs.price_of(
        sizes,
        [seconds + HEADER * len(here)],
        MULTIPLIED * min(largest, most) * len(here) + 2 * costs.DOUBLE * largest,
        libraries=costs.NUMPY,
        work=costs.counted(len(here), "model"),
    )


def members_of(base: str, patterns: Sequence[str], own_bases: bool = False) -> tuple[str, ...]:
    """List the fine-tunes that are named; the study itself reports those that cannot be found.

    Raises:
        SpecError: If a pattern matches nothing.
    """
    return tuple(_bases_of(base, patterns, own_bases))


def _bases_of(base: str, patterns: Sequence[str], own_bases: bool = False) -> dict[str, str]:
    """Find the fine-tunes of `members_of`, each with its base."""
    named = [
        pattern for pattern in patterns if pattern.startswith("hub:") and not is_pattern(pattern)
    ]
    unnamed = [pattern for pattern in patterns if pattern not in named]
    members: dict[str, str] = {}
    if unnamed:
        with suppress(ModelError):
            tuned = find_members(base, unnamed, own_bases).members
            members = {member.ref: member.base for member in tuned}
    return {**members, **{ref: base for ref in named if ref not in members}}


def _sizes(base: str, bases: Mapping[str, str]) -> tuple[dict[str, Size], list[str]]:
    """Look up the sizes of a base and its fine-tunes, adapters among them.

    Args:
        base: Reference of the base.
        bases: Fine-tune -> the model that it started from.

    Returns:
        Sizes by reference, and which references are adapters; models that are not available are
        left out.
    """
    # an adapter is read by its factors here, not as the model that it makes
    sizes = costs.sizes_of((base, *(ref for ref in bases if not is_adapter(ref))))
    unsized = {ref: origin for ref, origin in bases.items() if ref not in sizes}
    origins = sizes | costs.sizes_of({*unsized.values()} - {*sizes})
    adapters: dict[str, Size] = {}
    for ref, origin in unsized.items():
        if origin in origins:
            with suppress(ModelError):
                adapters[ref] = size_of_adapter(ref, origins[origin])
    return sizes | adapters, [*adapters]


def _matrices(size: Size, families: Sequence[str]) -> list[tuple[tuple[int, int], float]]:
    """Shapes and numbers of a model's matrices, as in a BERT of this width and depth."""
    wide = sum(FEED_FORWARD in family for family in families) if families else 2
    square = len(families) - wide if families else 4
    width = size.d_model
    return [((width, width), square * size.layers), ((width, WIDER * width), wide * size.layers)]


def _decomposed(size: Size, families: Sequence[str], factors: bool = False) -> float:
    """Processor seconds to decompose the matrices of an update; the product of an adapter's
    factors is only sketched where that takes less."""
    seconds = 0.0
    for (rows, columns), number in _matrices(size, families):
        once = FACTORED * _cube((rows, columns))
        seconds += number * (min(once, SKETCHED * rows * columns) if factors else once)
    return seconds


def _changed(shape: tuple[int, int], draws: int) -> float:
    """Processor seconds for one matrix and its random updates."""
    if min(shape) > SMALL:
        once = NOISY * min(shape)
    else:
        once = DRAWN * shape[0] * shape[1] + LED * _cube(shape)
    return draws * once + BASE * _cube(shape)


def _turned(shape: tuple[int, int], draws: int) -> float:
    """Processor seconds for one matrix and its turned updates, which are decomposed whole."""
    count = draws if min(shape) <= SMALL else min(draws, LARGE_DRAWS)
    return (TURNED + TURN * count) * _cube(shape) + DRAWN * count * shape[0] * shape[1]


def _scaled(size: Size, removals: int) -> float:
    """Processor seconds to score a model at every scale of its directions and of the controls."""
    runs = 2 + (len(SCALES) - 1) * (3 + removals)
    decomposed = BASE * 2 * size.layers * 6 * float(size.d_model) ** 3
    return (
        2 * costs.opening(size) + decomposed + costs.passing(size, runs * (SCORED + MASKED_PASSES))
    )


def _cube(shape: tuple[int, int]) -> float:
    return float(min(shape)) ** 3 * (1 + 0.1 * (max(shape) / min(shape) - 1))


def _largest(sizes: Sequence[Size]) -> float:
    """Bytes of the matrices that tasks hold at the same time."""
    widest = max((size.d_model for size in sizes), default=0)
    return HELD * min(TASKS_AT_ONCE, len(sizes)) / TASKS_AT_ONCE * WIDER * widest**2 * costs.DOUBLE
