"""Prices of the studies in this folder: parsing, training banks of probes, fitting classifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from core.maths.structural.positions import SIZE
from core.maths.structural.schedule import AT_HAND
from core.models import costs, parse_ref
from core.models.loading.language_models import predicts
from core.models.loading.reading import LOGITS
from core.models.sizes import Size
from core.runs.price import Price
from core.studies.probes.trees.tables import TAGS
from core.studies.probes.trees.tasks import is_exact
from core.vectors.stored import CHUNK
from core.vectors.window import REACHES

if TYPE_CHECKING:
    from core.studies.probes.behaviour.spec import BehaviourSpec
    from core.studies.probes.edges.spec import EdgeSpec
    from core.studies.probes.polar.spec import PolarSpec
    from core.studies.probes.removal.spec import RemovalSpec
    from core.studies.probes.training.spec import ProbeTrainingSpec
    from core.studies.probes.trees.spec import ProbeSpec

PARSING = 4e-3  # processor seconds per sentence
EPOCHS = 18  # until most probes have converged
EARLY = 1.5  # of probes on the steps of a run, over those on trained models
PROJECTED = 2.3e-10  # processor seconds per word, rank and dimension, in double precision
SINGLE = 0.4  # of the time in double precision, see `tasks.is_exact`; .35 with fast bfloat16
MEASURED = 8.5e-9  # processor seconds per word and rank
DRAWN = 2e-8  # processor seconds per test sentence, probe and bootstrap draw
POLAR = 2.5  # training of a polar probe but for its angles, over that of a distance probe
ANGLES = 2.5e-8  # processor seconds per word and rank to turn the edges
DIRECTED = 6e-5  # processor seconds per sentence of the text to direct and label predicted edges
FITTED = 4.2e-9  # processor seconds per item, dimension and class of a classifier, to convergence
CLASSES = {"pos": 17, "label": 40, "distance": 9}
BOUND = 6e-11  # processor seconds per cubed dimension in which a classifier is fitted
CODED, BLOCKS = 0.63, 7  # of a text's words, items of training; portions coded one after the other
WINDOW_WORDS = tuple(2 * reach + 1 for reach in REACHES)  # each is tried, one is used
USED = WINDOW_WORDS[1]  # a guess
CHOOSING = 1.5  # choice of a penalty, over coding and fitting one set of labels
PAIR_TOKENS = 10.5  # of a sentence of a minimal pair, special tokens included
LENGTHS = 2.0  # different lengths of the sentences of one kind, each a batch
SHORT = 1.4  # as long per token as a pass over the demo: short sentences, and the vocabulary
BESIDE = 4.0  # as many bytes for layers beside a window: twice as wide, in single precision
HALF = 2.0  # bytes per number of the vectors that probes read
# Of the sentences that are read at once, the longest first: bytes per number of all their layers,
# as they are computed and stored, and their words over the mean
STORING, LONG = 8.0, 1.5
WORKING, PARSER = 2.5, 0.12  # copies of one model's vectors; gigabytes of the parser and its trees


def probe_price(spec: ProbeSpec) -> Price:
    """The price of the main study: a bank of probes for each model, on its trees and on control
    trees."""
    return _priced(spec, spec.probed, controlled=spec.models, sweep=spec.sweep, windows=spec.models)


def training_price(spec: ProbeTrainingSpec) -> Price:
    """The price of probes on the steps of a run and its final model."""
    refs = (*spec.checkpoints, spec.end)
    return _priced(spec.as_probes, refs, controlled=refs, longer=EARLY)


def sweep_price(spec: ProbeSpec, models: Iterable[str]) -> Price:
    """The price of the rank sweep: probes of every rank on one layer of each model."""
    sizes = costs.sizes_of(models)
    words = costs.WORDS * costs.sentences_of(spec)
    tasks = [costs.STARTING, PARSING * costs.sentences_of(spec)]
    tasks += [costs.opening(size) + _swept(spec, size, words) for size in sizes.values()]
    return costs.price_of(
        sizes,
        tasks,
        _trained(sizes, spec.layers, words),
        work=costs.counted(len(sizes), "model"),
    )


def edges_price(spec: EdgeSpec) -> Price:
    """The price of edge probing: classifiers of each target, layer and set of labels."""
    sizes, sentences = costs.sizes_of(spec.probed), costs.sentences_of(spec)
    words = costs.WORDS * sentences
    tasks = [costs.STARTING, PARSING * sentences]
    for ref, size in sizes.items():
        tasks.append(costs.vectors(size, sentences))
        sets = 1 + (spec.controls if not parse_ref(ref).random else 0)
        tasks += _classifiers(spec, size, sets, words)
        if ref in spec.models:
            tasks += _classifiers(spec, size, 1, words, window=True)
            if spec.conditional:
                states = (len(spec.layers) or size.layers + 1) + 1
                tasks += _fitted(spec, (USED + 1) * size.d_model, states, words)
                tasks += _classifiers(spec, size, 1, words, window=True)
    windows = [_window(spec, sizes[ref].d_model, words) for ref in spec.models if ref in sizes]
    memory = _held(sizes, spec.layers, words) + max(windows, default=0.0)
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def polar_price(spec: PolarSpec) -> Price:
    """The price of polar probes: banks on real and on control labels, and on each static window."""
    probes = spec.as_probes
    sizes, sentences = costs.sizes_of(spec.probed), costs.sentences_of(spec)
    words = costs.WORDS * sentences
    tasks = [costs.STARTING, PARSING * sentences]
    for ref, size in sizes.items():
        states = len(spec.layers) or size.layers + 1
        tasks.append(costs.vectors(size, sentences))
        draws = spec.seeds + (spec.controls if ref in spec.models else 0)
        arcs = _arcs(probes, size.d_model, words, sentences, _in_precision(size))
        tasks.append(states * draws * arcs)
        if ref in spec.models:
            trials = [
                _arcs(probes, wide * size.d_model, words, sentences, _in_precision(size))
                for wide in (*WINDOW_WORDS, *[USED] * spec.seeds)
            ]
            tasks.append(sum(trials))
    tasks.append(spec.seeds * _arcs(probes, SIZE, words, sentences))
    memory = _trained(sizes, spec.layers, words)
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def behaviour_price(spec: BehaviourSpec) -> Price:
    """The price of minimal pairs, a pass for each token of each sentence, and of probes beside."""
    refs = spec.refs
    sizes = costs.sizes_of(refs)
    sentences = 2 * spec.pairs * len(spec.kinds)
    tasks = [costs.STARTING]
    tasks += [
        costs.passes(size, sentences, _scored(size), LENGTHS, len(spec.kinds))
        for size in sizes.values()
    ]
    memory = costs.resident(sizes, head=True)
    if any(costs.is_by_layer(size) for size in sizes.values()):
        memory += LOGITS * costs.SINGLE
    if spec.probes:
        words = costs.WORDS * costs.sentences_of(spec)
        memory = max(memory, _trained(sizes, (), words))
        tasks.append(PARSING * costs.sentences_of(spec))
        for ref, size in sizes.items():
            tasks += _classifiers(spec.as_edges(ref), size, 1, words) if spec.targets else []
            probes = spec.as_probes(ref)
            bank = _of_layer(probes, "distance", probes.rank, size, words)
            drawn = DRAWN * 0.1 * costs.sentences_of(spec) * spec.draws
            tasks.append(costs.vectors(size, costs.sentences_of(spec)))
            tasks.append((size.layers + 1) * spec.seeds * (bank + drawn))
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(sizes), "model"))


def removal_price(spec: RemovalSpec) -> Price:
    """The price of erasing subspaces: a probe for each layer, and passes under each condition."""
    probes = spec.as_probes
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    words, conditions = costs.WORDS * sentences, 2 + 2 * spec.randoms
    tasks = [costs.STARTING, PARSING * sentences]
    for size in sizes.values():
        states = len(spec.layers) or size.layers + 1
        bank = _of_layer(probes, "distance", spec.rank, size, words)
        scored = costs.passing(size, spec.scored, 1.0)
        if predicts(size.architecture) or not size.architecture:
            scored *= costs.SUBWORDS
            scored += costs.passing(size, 2 * spec.pairs * len(spec.kinds), _scored(size))
        at_layer = [2 * costs.vectors(size, sentences), bank, conditions * scored]
        tasks += [*at_layer, 2 * costs.opening(size)] * states
    memory = max(
        _trained(sizes, (0,), words), costs.resident(sizes, whole=True)
    )  # a layer at a time
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(sizes), "model"))


def _scored(size: Size) -> float:
    """Count the passes that score a sentence of a minimal pair, as passes over one of the demo: one
    for each token that is masked, one in all for a causal model. The vocabulary of a large model is
    among the parameters that its passes are priced by."""
    once = (1.0 if costs.is_by_layer(size) else SHORT) * PAIR_TOKENS / costs.SUBWORDS
    return once if predicts(size.architecture) == "causal" else once * (PAIR_TOKENS - 2)


def _arcs(
    spec: ProbeSpec, width: int, words: float, sentences: float, precision: float = 1.0
) -> float:
    """Processor seconds to train one polar probe and to direct the edges of the test sentences."""
    rank = min(spec.rank, width)
    bank = POLAR * precision * _bank(spec, "distance", rank, width, words)
    angles = ANGLES * min(spec.epochs, EPOCHS) * words * rank
    return bank + angles + sentences * (DIRECTED + DRAWN * 0.1 * spec.draws)


def _classifiers(
    spec: EdgeSpec, size: Size, sets: int, words: float, *, window: bool = False
) -> list[float]:
    """Processor seconds of the classifiers of each target, on every layer and set of labels, or on
    the static window."""
    if window:
        tried = [_fitted(spec, wide * size.d_model, 1, words) for wide in WINDOW_WORDS]
        return [sum(times) for times in zip(*tried, strict=True)]
    return _fitted(spec, size.d_model, len(spec.layers) or size.layers + 1, words, sets)


def _fitted(spec: EdgeSpec, width: int, states: int, words: float, sets: int = 1) -> list[float]:
    """Processor seconds to fit classifiers of each target to vectors of a word of this width."""
    seconds = []
    for target in spec.targets:
        wide = width * (2 if target == "label" else 1)
        fits = sets + CHOOSING * (not spec.penalty)
        fitted = FITTED * words * wide * CLASSES[target] * fits
        # A portion has half of the next one's items, and few items are fitted in their span.
        cubes = sum(min(wide, CODED * words / 2**portion) ** 3 for portion in range(BLOCKS))
        seconds.append(states * (fitted + BOUND * cubes))
    return seconds


def _window(spec: EdgeSpec, width: int, words: float) -> float:
    """Bytes of a static window's features, and of a factor in double and single precision."""
    wide = max(WINDOW_WORDS) * width * (2 if "label" in spec.targets else 1)
    factor = (costs.DOUBLE + costs.SINGLE) * min(wide, CODED * words) ** 2
    return costs.SINGLE * words * wide + factor


def _priced(
    spec: ProbeSpec,
    refs: Sequence[str],
    *,
    controlled: Sequence[str],
    sweep: bool = False,
    windows: Sequence[str] = (),
    longer: float = 1.0,
) -> Price:
    sizes, sentences = costs.sizes_of(refs), costs.sentences_of(spec)
    words = costs.WORDS * sentences
    tasks = [costs.STARTING, PARSING * sentences]
    for ref, size in sizes.items():
        states = len(spec.layers) or size.layers + 1
        tasks.append(costs.vectors(size, sentences))
        for draws in (spec.seeds, spec.controls if ref in controlled else 0):
            once = longer * sum(
                _of_layer(spec, kind, spec.rank, size, words) for kind in spec.probes
            )
            tasks.append(states * draws * (once + DRAWN * 0.1 * sentences * spec.draws))
        if ref in windows:
            once = _in_precision(size) * sum(
                _bank(spec, kind, min(spec.rank, wide), wide, words)
                for wide in (size.d_model * n for n in (*WINDOW_WORDS, *[USED] * spec.seeds))
                for kind in spec.probes
            )
            tasks.append(once + spec.seeds * DRAWN * 0.1 * sentences * spec.draws)
            tasks += [_beside(spec, size, words)] * spec.conditional
        if sweep:
            tasks.append(_swept(spec, size, words))
    tasks += [_tagged(spec, words)] if windows else []
    memory = _trained(sizes, spec.layers, words) * (BESIDE if spec.conditional else 1)
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def _beside(spec: ProbeSpec, size: Size, words: float) -> float:
    """Processor seconds to train probes on each layer beside the static window."""
    rank, states = min(spec.rank, 2 * size.d_model), (len(spec.layers) or size.layers + 1) + 1
    once = sum(_bank(spec, kind, rank, 2 * size.d_model, words) for kind in spec.probes)
    return spec.seeds * states * _in_precision(size) * once


def _tagged(spec: ProbeSpec, words: float) -> float:
    """Processor seconds to train probes on parts of speech, alone and with their neighbours'."""
    widths = [(2 * reach + 1) * CLASSES["pos"] + SIZE for reach in TAGS]
    banks = [
        _bank(spec, kind, min(spec.rank, width), width, words)
        for width in widths
        for kind in spec.probes
    ]
    return spec.seeds * sum(banks)


def _in_precision(size: Size) -> float:
    """Time to train a probe on a model's vectors, over that in double precision."""
    return 1.0 if is_exact(size.parameters) else SINGLE


def _of_layer(spec: ProbeSpec, kind: str, rank: int, size: Size, words: float) -> float:
    """Processor seconds to train one probe on a layer of a model."""
    wide = size.d_model
    return _in_precision(size) * _bank(spec, kind, min(rank, wide), wide, words)


def _bank(spec: ProbeSpec, kind: str, rank: int, width: int, words: float) -> float:
    """Processor seconds to train one probe in double precision."""
    epochs = min(spec.epochs, EPOCHS)
    once = PROJECTED * rank * width + (MEASURED * rank if kind == "distance" else 0.0)
    return epochs * words * once


def _swept(spec: ProbeSpec, size: Size, words: float) -> float:
    """Processor seconds to train probes of every rank; the whole bank is as wide as the widest."""
    ranks = size.d_model.bit_length() + 1
    return spec.seeds * ranks * _of_layer(spec, "distance", size.d_model, size, words)


def _trained(sizes: Mapping[str, Size], layers: Sequence[int], words: float) -> float:
    """Bytes of `_held`, and of the vectors that two banks of probes hold in double precision."""
    double = costs.DOUBLE * _numbers(sizes, layers, words)
    return _held(sizes, layers, words) + 2 * min(double, AT_HAND)


def _held(sizes: Mapping[str, Size], layers: Sequence[int], words: float) -> float:
    """Bytes of the widest model's vectors and their copies, and of the model that reads a run of
    sentences in all layers, or the parser."""
    numbers = _numbers(sizes, layers, words)
    whole = {ref: size for ref, size in sizes.items() if not costs.is_by_layer(size)}
    read = min(words, LONG * costs.WORDS * CHUNK)
    model = costs.resident(sizes, words / costs.WORDS) + STORING * _numbers(whole, (), read)
    return WORKING * HALF * numbers + max(model, PARSER * 1e9)


def _numbers(sizes: Mapping[str, Size], layers: Sequence[int], words: float) -> float:
    """Numbers in the vectors of the widest model."""
    widths = [(len(layers) or size.layers + 1) * size.d_model for size in sizes.values()]
    return words * max(widths, default=0)
