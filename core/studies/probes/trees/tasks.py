"""The pure tasks of a probe study on one model: train its probes and score them.

A task's arguments hold everything on which its numbers depend: references for loading, fingerprints
for the key, the sentences themselves. Vectors come from `core.vectors.activations`, which stores
them by sentence; here they are read in chunks of sentences and held once, in half precision unless
a value would overflow.

Trees are those of training, then development, then test, `sizes` of each; costs are estimated from
the sizes of `models`. A value holds `layers`, `ranks` and `draws` (probe,); of the test sentences
`edges` (sentence,) and `hits`, `dspr`, `nspr`, `root` (probe, sentence); of each kind of probe
`..._dev` (epoch, probe), development losses, and `..._best` (probe,), the epoch kept; and
`notices`. On the trees given also `dev_uuas` and `dev_root` (probe,), shares on the development
sentences; of the first draw the maps `..._maps` (layer and rank, rank, d_model), and, with both
kinds of one rank, the `heads` (layer, word) of the predicted trees; with position codes `centres`
(layer, d_model) and `deviations` (layer,) of the vectors. On control trees `chain_...` (draw,
sentence), the linear chain's scores.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from core.maths.devices import choose_device
from core.maths.structural.baselines import linear_chain
from core.maths.structural.control import control_heads
from core.maths.structural.costs import training_seconds
from core.maths.structural.positions import with_positions
from core.maths.structural.predict import predict_depths, predict_distances, predicted_trees
from core.maths.structural.scores import Gold, SentenceScores, score, score_depths, score_distances
from core.models import describe, load_tokenizer
from core.runs.process.turns import turn
from core.studies.probes.costs import bytes_to_train
from core.studies.probes.trees.data import PartSizes, Tree, Trees, gold_of
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick

CHUNK = 1_000  # sentences whose vectors are in memory in full precision at once
EARLY = 1.5  # of probes on the steps of a run, over those on trained models
LARGEST_HALF = 65_504.0
LARGE = 2**29  # bytes of vectors from which on tasks take turns
# Parameters up to which a model reads, and its probes are trained, in double precision: the rounded
# vectors are then the same on any processor, and so are the probes. In single precision two
# processors round a few vectors in a thousand otherwise, which is enough for half of the probes to
# stop at another epoch and to differ by up to 1.5 points; training such vectors in double precision
# takes twice the time and mends nothing.
EXACT = 50_000_000
_LARGE_ONE = threading.Lock()


@dataclass(frozen=True)
class Regime:
    """How a task's probes are trained, in plain values.

    Attributes:
        probes: "distance", "depth" or both.
        ranks: One rank for all layers, or several for a sweep.
        draws: Probes of each layer and rank: with different initial maps and orders of sentences,
            and on control trees each on its own set of them.
        seed: Of maps, the order of sentences and the control rules.
        epochs: Most epochs.
        control: Whether the trees are draws of control trees.
    """

    probes: tuple[str, ...]
    ranks: tuple[int, ...]
    draws: int
    seed: int
    epochs: int
    control: bool = False


def probing(
    models: Mapping[str, Size], model: str, trees: Trees, layers: int
) -> dict[Hashable, Cost]:
    """Estimate what tasks on a model's vectors share: parsing and reading the text."""
    size, count = {model: models[model]}, len(trees.words)
    words = costs.WORDS * count
    held = bytes_to_train(size, range(layers), words)
    read = Cost(costs.vectors(models[model], count), held, costs.stored(models[model], count))
    return {"parser": Cost(costs.PARSING * count), model: read}


def train_cost(
    models: Mapping[str, Size], /, model: str, trees: Trees, layers: Sequence[int], how: Regime,
    exact: bool = True, **_: Any,
) -> Cost:  # fmt: skip
    """Estimate the training of a bank, which is as wide as its widest probe."""
    width, words = models[model].d_model, costs.WORDS * len(trees.words)
    once = training_seconds(how.probes, max(how.ranks), width, words, how.epochs, exact)
    banks = len(layers) * how.draws * len(how.ranks)
    return Cost(banks * once, shared=probing(models, model, trees, len(layers)))


def _scored_cost(models: Mapping[str, Size], /, *, how: Regime, **arguments: Any) -> Cost:
    """Estimate probes without maps: of one rank on the steps of a run, of several for a sweep."""
    cost = train_cost(models, how=how, **arguments)
    return replace(cost, seconds=EARLY * cost.seconds) if len(how.ranks) == 1 else cost


@pure("probes.train", version=3, guard=as_identified, cost=train_cost)
def train_probes(
    model: str,
    model_identity: str,
    trees: Trees,
    sizes: PartSizes,
    layers: tuple[int, ...],
    position: bool,
    how: Regime,
    exact: bool = True,
) -> Value:
    """Train the probes of one model and score them on the test sentences; `exact` as `is_exact`
    says. Raises ModelError if the model cannot be loaded, SpecError if it has no such layer or
    fewer dimensions than the rank."""
    with span(0.0, 0.0):  # a process that has not yet seen the model looks at all of its files
        golds = (
            _control_golds(model, trees.rows, how.draws, how.seed)
            if how.control
            else [gold_of(trees.rows)]
        )
    with span(0.0, 0.2):
        vectors, value = read_for_probes(model, trees, layers, sizes, position, how.control)
    with taking_turns(vectors.nbytes), span(0.2, 1.0):
        value |= train_and_score(vectors, layers, golds, sizes, how, exact)
    if how.control:
        start = sizes[0] + sizes[1]
        chains = [columns("chain_", linear_chain(gold.part(start, sum(sizes)))) for gold in golds]
        value |= {name: np.concatenate([chain[name] for chain in chains]) for name in chains[0]}
    return value


@pure("probes.scored", version=2, guard=as_identified, cost=_scored_cost)
def score_probes(**arguments: Any) -> Value:
    """As `train_probes` without the maps, for studies that apply them to no sentence."""
    return without_maps(train_probes(**arguments))


def is_exact(parameters: int) -> bool:
    """Whether a model of this size is read, and its probes are trained, in double precision."""
    return parameters <= EXACT


def without_maps(scored: Value) -> Value:
    """A task's output without the trained maps."""
    return {name: part for name, part in scored.items() if not name.endswith("_maps")}


def read_vectors(
    model: str, words: Sequence[Sequence[str]], layers: Sequence[int]
) -> tuple[np.ndarray, list[str]]:
    """Vectors of all words, (item, layer, d_model), with notices: float16, or float32 where a value
    would overflow. A word without a token has the vector 0, so that sentences stay whole."""
    from core.vectors.activations import extract

    info = describe(model)
    width = info.d_model
    double = is_exact(info.parameters) and choose_device() == "cpu"
    dtype = "float64" if double else "float32"
    total = sum(map(len, words))
    result = np.zeros((total, len(layers), width), dtype=np.float16)
    notices: list[str] = []
    start = 0
    for first in range(0, len(words), CHUNK):
        chunk = words[first : first + CHUNK]
        with span(first / len(words), (first + len(chunk)) / len(words)):
            got = extract(model, chunk, layers=layers, dtype=dtype)
        starts = start + np.concatenate([[0], np.cumsum([len(sentence) for sentence in chunk])])
        if result.dtype == np.float16 and np.abs(got.vectors).max(initial=0.0) > LARGEST_HALF:
            result = result.astype(np.float32)
        result[starts[got.sentence] + got.word] = got.vectors.swapaxes(0, 1)
        notices += [notice for notice in got.notices if notice not in notices]
        start = int(starts[-1])
    return result, notices


def read_for_probes(
    model: str, trees: Trees, layers: Sequence[int], sizes: PartSizes, position: bool,
    control: bool,
) -> tuple[np.ndarray, Value]:  # fmt: skip
    """Vectors that the probes of a model read, (item, layer, feature), and what its task returns of
    them; arguments as in `train_probes`, `control` as in `Regime`."""
    vectors, notices = read_vectors(model, trees.words, layers)
    vectors[trees.sink_words] = 0  # no probe reads them, and they would set the scale
    value: Value = {"notices": notices}
    if position:
        vectors, centres, deviations = with_positions(vectors, trees.lengths, sizes[0])
        value |= {} if control else {"centres": centres, "deviations": deviations}
    return vectors, value


def train_and_score(
    vectors: np.ndarray,
    layers: tuple[int, ...],
    golds: Sequence[Gold],
    sizes: PartSizes,
    how: Regime,
    exact: bool = True,
) -> Value:
    """Train each kind of probe on the training vectors and score it on the test vectors."""
    import torch

    from core.maths.structural.batches import ProbeData
    from core.maths.structural.training import Probe, train_bank

    ends = [0, *np.cumsum(sizes).tolist()]
    cuts = np.concatenate([[0], np.cumsum(golds[0].lengths)])[ends]
    read = [vectors[start:end] for start, end in pairwise(cuts)]
    probes = [
        Probe(layer, rank, draw, draw if how.control else 0)
        for layer in layers
        for rank in how.ranks
        for draw in range(how.draws)
    ]
    value: Value = {
        "layers": np.array([probe.layer for probe in probes]),
        "ranks": np.array([probe.rank for probe in probes]),
        "draws": np.array([probe.draw for probe in probes]),
    }
    first, predicted = [i for i, probe in enumerate(probes) if probe.draw == 0], {}
    for number, kind in enumerate(how.probes):
        trees = [gold.distances if kind == "distance" else gold.depths for gold in golds]
        targets = [np.stack(rows) for rows in zip(*trees, strict=True)]
        train, dev = (
            ProbeData(torch.from_numpy(read[part]), targets[ends[part] : ends[part + 1]])
            for part in (0, 1)
        )
        with span(0.9 * number / len(how.probes), 0.9 * (number + 1) / len(how.probes)):
            bank = train_bank(
                train, dev, probes, kind=kind, layers=layers, seed=how.seed, epochs=how.epochs,
                exact=exact, device=training_device(), report=tick,
            )  # fmt: skip
        value |= {f"{kind}_dev": bank.dev_losses, f"{kind}_best": bank.best_epoch}
        rows = [layers.index(probe.layer) for probe in probes]
        for part in (2,) if how.control else (1, 2):
            held = [gold.part(ends[part], ends[part + 1]) for gold in golds]
            predict = predict_distances if kind == "distance" else predict_depths
            predictions = predict(bank.maps, read[part], held[0].lengths, rows)
            scores = _score(kind, predictions, held, [probe.target for probe in probes])
            if part == 1:
                metric = "uuas" if kind == "distance" else "root"
                value[f"dev_{metric}"] = score(scores, metric)
            else:
                value |= columns("", scores)
                value |= {"edges": scores.edges} if kind == "distance" else {}
                predicted[kind] = [values[first] for values in predictions]
        if not how.control:
            value[f"{kind}_maps"] = bank.maps[first]
    if not how.control and len(predicted) == 2 and len(how.ranks) == 1:
        tick(0.95, "predicted trees")
        value["heads"] = predicted_trees(
            predicted["distance"], predicted["depth"], golds[0].part(*ends[2:]).keep
        )
    return value


def _score(
    kind: str, predicted: Sequence[np.ndarray], golds: Sequence[Gold], targets: Sequence[int]
) -> SentenceScores:
    """Scores of every probe against its own trees."""
    measure = score_distances if kind == "distance" else score_depths
    if len(golds) == 1:
        return measure(predicted, golds[0])
    place = np.array(targets)
    parts = [
        measure([rows[place == target] for rows in predicted], gold)
        for target, gold in enumerate(golds)
    ]
    back = np.argsort(
        np.concatenate([np.flatnonzero(place == target) for target in range(len(golds))])
    )
    joined = {
        name: np.concatenate([part.computed[name] for part in parts])[back]
        for name in parts[0].computed
    }
    return replace(parts[0], **joined)  # control trees of a sentence have equal edges


def _control_golds(model: str, trees: Sequence[Tree], draws: int, seed: int) -> list[Gold]:
    """Control trees over words as the model's tokenizer distinguishes them, one set per draw."""
    words = load_tokenizer(model).forms([tree.words for tree in trees])
    keep = [np.array(tree.keep) for tree in trees]
    return [
        gold_of(trees, [control_heads(*row, seed, draw) for row in zip(words, keep, strict=True)])
        for draw in range(draws)
    ]


def columns(prefix: str, scores: SentenceScores) -> Value:
    """The scores that were computed, by name."""
    return {prefix + name: part.astype(np.float32) for name, part in scores.computed.items()}


def training_device() -> str:
    """A GPU where there is one, except Apple's, which lacks operations that training needs."""
    return "cuda" if choose_device() == "cuda" else "cpu"


def taking_turns(size: int) -> contextlib.AbstractContextManager[None]:
    """Let one task at a time hold vectors of LARGE bytes or more; others wait, cancellably."""
    if size < LARGE:
        return contextlib.nullcontext()
    return turn(_LARGE_ONE, partial(tick, 0.0, "waiting for the other probes"))
