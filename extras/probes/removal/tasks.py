"""The pure tasks of the study: erase a probe's subspace, and random ones, at a layer of a model.

A value has a row for each of `conditions`: NONE, PROBE, RANDOM (`randoms` times), MATCHED (as
often). `change` (condition,) is the mean squared length of the change over the states' variance;
of a language model there are `likelihood` (condition, sentence) in nats, `tokens` (sentence,), and
for each kind of pair `good/...` and `bad/...` (condition, pair), of the critical region; of a
parser `right` (condition, sentence) and `words` (sentence,). `uuas` is the probe's own score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

import core.maths.erasure as erasure
import core.models.loading.language_models as language_models
import core.models.loading.task_models as task_models
import core.studies.probes.trees.tasks as tasks
from core.errors import ModelError
from core.maths.structural.costs import training_seconds
from core.models.loading.model import load_with_head
from core.studies.probes.costs import bytes_to_train, passes_per_pair
from core.studies.probes.minimal_pairs.templates import make_pairs, region_scores
from core.studies.probes.trees.data import PartSizes, Tree, Trees
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick
from core.vectors.examples import IGNORED, Encoded, batches, count_hits, encode
from core.vectors.predicting import check_losses

NONE, PROBE, RANDOM, MATCHED = "nothing", "probe", "random", "random, equal change"
ARCS = "arcs"  # the head of the included parser


@dataclass(frozen=True)
class RemovalRegime:
    """What is erased and on how much it is measured, in plain values.

    Attributes:
        rank: Of the probe, and of the random subspaces.
        randoms: Random subspaces, each erased as it is and scaled to the probe's change.
        scored: Most test sentences on which the loss is measured.
        kinds: Of minimal pairs.
        pairs: Of each kind.
        seed: Of the probe and of the random subspaces.
        epochs: Most epochs of the probe.
    """

    rank: int
    randoms: int
    scored: int
    kinds: tuple[str, ...]
    pairs: int
    seed: int
    epochs: int


def _expected_head(models: Mapping[str, Size], ref: str) -> str:
    name = models[ref].architecture
    return language_models.predicts(name) or (
        "" if task_models.kind_of(name) else "masked" if not name else ARCS
    )


def _cost(
    models: Mapping[str, Size], /, model: str, head: str, trees: Trees, how: RemovalRegime,
    exact: bool = True, **_: Any,
) -> Cost:  # fmt: skip
    """Estimate a probe on one layer, and passes under each condition."""
    size, count = models[model], len(trees.words)
    words, conditions = costs.WORDS * count, 2 + 2 * how.randoms
    scored = costs.passing(size, how.scored)
    if head != ARCS:
        scored *= costs.SUBWORDS
        scored += costs.passing(size, 2 * how.pairs * len(how.kinds), passes_per_pair(size))
    bank = training_seconds(("distance",), how.rank, size.d_model, words, how.epochs, exact)
    shared = tasks.probing(models, model, trees, 1)
    shared["weights"] = Cost(0.0, costs.resident({model: size}, whole=True))
    return Cost(
        2 * shared.pop(model).seconds + bank + conditions * scored + 2 * costs.opening(size),
        shared={**shared, "vectors": Cost(0.0, bytes_to_train({model: size}, (0,), words))},
    )


@pure("probes.removal_head", expect=_expected_head)
def find_head(ref: str) -> str:
    """Tell which head a model kept: "masked", "causal" or ARCS; "" without one of these. Raises
    ModelError if the model cannot be found."""
    kind = language_models.head_of(ref)
    if kind is not None:
        return kind
    try:
        return ARCS if task_models.describe_head(ref).kind == ARCS else ""
    except ModelError:
        return ""


@pure("probes.removal", version=2, guard=as_identified, cost=_cost)
def erase_subspace(
    model: str,
    model_identity: str,
    head: str,
    trees: Trees,
    sizes: PartSizes,
    layer: int,
    position: bool,
    how: RemovalRegime,
    exact: bool = True,
) -> Value:
    """Train a distance probe on a layer, erase its subspace there (a position code is not erased),
    and score the model. Raises ModelError if it cannot be loaded, or nothing can be erased at the
    layer."""
    with span(0.0, 0.3):
        probe = tasks.train_probes(
            model=model, model_identity=model_identity, trees=trees, sizes=sizes,
            layers=(layer,), position=position,
            how=tasks.Regime(("distance",), (how.rank,), 1, how.seed, how.epochs), exact=exact,
        )  # fmt: skip
    words = trees.words[: sizes[0]]
    with span(0.3, 0.4):
        vectors, notices = tasks.read_vectors(model, words, (layer,))
    present = (vectors[:, 0] != 0).any(axis=1) & ~trees.sink_words[: len(vectors)]
    states = erasure.measure_states(vectors[present, 0])
    readout = np.asarray(probe["distance_maps"])[0][:, : vectors.shape[-1]]
    named = [*_erasers(states, readout, how)]
    variance = float(np.trace(states[1]))
    value: Value = {
        "conditions": [name for name, _ in named],
        "change": np.array([0.0 if each is None else each.change / variance for _, each in named]),
        "uuas": float(np.asarray(probe["hits"]).sum() / max(np.asarray(probe["edges"]).sum(), 1)),
        "notices": notices,
    }
    test = trees.rows[sizes[0] + sizes[1] :][: how.scored]
    with span(0.4, 1.0):
        if head == ARCS:
            return value | _parsed(model, layer, named, test)
        sentences = tuple(tree.words for tree in test)
        return value | _likelihoods(model, head, layer, named, sentences, how)


def _erasers(
    states: tuple[np.ndarray, np.ndarray], readout: np.ndarray, how: RemovalRegime
) -> Iterator[tuple[str, erasure.Eraser | None]]:
    """Every condition with its eraser."""
    yield NONE, None
    probe = erasure.fit_eraser(*states, readout)
    yield PROBE, probe
    rng = np.random.default_rng((how.seed, how.rank))
    shape = (len(readout), readout.shape[1])
    randoms = [
        erasure.fit_eraser(*states, erasure.random_readout(*shape, rng)) for _ in range(how.randoms)
    ]
    yield from ((RANDOM, each) for each in randoms)
    yield from ((MATCHED, each.matched(probe)) for each in randoms)


def _likelihoods(
    model: str,
    head: str,
    layer: int,
    named: list[tuple[str, erasure.Eraser | None]],
    sentences: tuple[tuple[str, ...], ...],
    how: RemovalRegime,
) -> Value:
    """Log-likelihoods of sentences and of minimal pairs under every condition."""
    from core.studies.probes.minimal_pairs.scoring import score_words
    from core.vectors.forward import cut_sentences
    from extras.probes.removal.hooks import erased

    loaded = load_with_head(model)
    made = {kind: make_pairs(kind, how.pairs) for kind in how.kinds}
    texts = [*sentences]
    for pairs in made.values():
        texts += [*(pair.good for pair in pairs), *(pair.bad for pair in pairs)]
    rows = []
    for number, (name, eraser) in enumerate(named):
        low, high = number / len(named), (number + 1) / len(named)
        with span(low, high), erased(loaded.model, layer, eraser):
            tick(0.0, name)
            words = score_words(loaded, cast("language_models.Kind", head), texts)
            rows.append(check_losses(model, words))
    tokens = [len(cut.inside) for cut in cut_sentences(loaded.tokenizer, sentences)]
    start = len(sentences)
    likelihood = np.stack([words[:start].sum(axis=1) for words in rows])
    value: Value = {"likelihood": likelihood, "tokens": np.array(tokens)}
    for kind, pairs in made.items():
        end = start + 2 * len(pairs)
        sides = np.array([region_scores(words[start:end], pairs) for words in rows])
        value |= {f"good/{kind}": sides[:, 0], f"bad/{kind}": sides[:, 1]}
        start = end
    return value


def _parsed(
    model: str, layer: int, named: list[tuple[str, erasure.Eraser | None]], test: list[Tree]
) -> Value:
    """Words whose head a parser predicts under every condition."""
    from extras.probes.removal.hooks import erased

    task, rows = task_models.load_task(model), []
    encoded = encode_trees(task, test)
    parts = tuple(batches(encoded))
    for number, (name, eraser) in enumerate(named):
        tick(number / len(named), name)
        with erased(task.model, layer, eraser):
            rows.append(count_hits(task.model, encoded, parts))
    return {"right": np.stack(rows), "words": np.array([sum(tree.keep) for tree in test])}


def encode_trees(task: task_models.TaskModel, trees: Sequence[Tree]) -> Encoded:
    """Encode trees for a parser; no prediction is right of words that do not count, such as
    punctuation."""
    pairs = [(tree.words, np.where(tree.keep, tree.heads, IGNORED).tolist()) for tree in trees]
    return encode(task.tokenizer, task.head, tuple(pairs), task.tokenizer.longest)
