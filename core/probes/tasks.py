"""The pure tasks of a probe study: train and score one model's probes, score baselines, score the parser.

A task's arguments hold everything that its numbers depend on: references for loading, fingerprints for the key, the
sentences themselves. Vectors come from `core.vectors.activations`, which stores them a sentence at a time; here
they are read a chunk of sentences at a time and held once, in half precision where nothing is lost by it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

import numpy as np

from core.errors import ModelError
from core.models import choose_device, describe, fingerprint, tokenizer_fingerprint
from core.probes.baselines import attachment, linear_chain, parsed_trees, random_trees
from core.probes.control import control_heads
from core.probes.data import Tree, gold_of
from core.probes.predict import predict_depths, predict_distances, predicted_trees
from core.probes.scores import Gold, SentenceScores, score_depths, score_distances
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure

CHUNK = 1_000  # sentences whose vectors are in memory in full precision at once
LARGEST_HALF = 65_504.0
_ONE_AT_A_TIME = threading.Lock()  # training uses every core, and its vectors fill the memory: never two at once

Words = tuple[tuple[str, ...], ...]
Heads = tuple[tuple[int, ...], ...]
Keep = tuple[tuple[bool, ...], ...]


def identity(ref: str) -> str:
    """What a model's vectors depend on, for a task's key: weights and tokenizer; "" where it cannot be found.

    A model that cannot be found gets a task all the same, and the task fails with the reason.
    """
    try:
        return f"{fingerprint(ref)} {tokenizer_fingerprint(ref)}"
    except ModelError:
        return ""


@pure("probes.train")
def train_probes(
    model: str,
    model_identity: str,
    words: Words,
    heads: Heads,
    keep: Keep,
    sizes: tuple[int, int, int],
    probes: tuple[str, ...],
    ranks: tuple[int, ...],
    layers: tuple[int, ...],
    control: bool,
    seed: int,
    epochs: int,
) -> Value:
    """Train the probes of one model and score them on the test sentences.

    Args:
        model: Reference.
        model_identity: See `identity`; part of the key.
        words: Sentences: training, then development, then test.
        heads: Their trees.
        keep: Which words are not punctuation.
        sizes: How many of the sentences are for training, development and test.
        probes: "distance", "depth" or both.
        ranks: One rank for all layers, or several for a sweep over the one layer given.
        layers: Layers to probe; empty for all.
        control: Train on control trees instead of the trees given.
        seed: Of maps, batches and control rules.
        epochs: Most epochs.

    Returns:
        `layers` and `ranks` (probe,); for each kind of probe `distance_maps` or `depth_maps` (probe, rank, d_model)
        float32, `..._dev` (epoch, probe) development losses, `..._best` (probe,) the epoch kept; on the test
        sentences `edges` (sentence,), `hits`, `dspr`, `nspr`, `root` (probe, sentence); `heads` (probe, word) of the
        predicted trees where both kinds were trained; `notices`.

    Raises:
        ModelError: If the model cannot be loaded.
        SpecError: If it has no such layer or fewer dimensions than the rank.
    """
    if not model_identity:
        fingerprint(model)  # raises the reason that `identity` met
        tokenizer_fingerprint(model)
        raise ModelError(f"{model} could not be found at first and can be now: run again.")
    trees = [Tree(*rows) for rows in zip(words, heads, keep, strict=True)]
    targets = [control_heads(t.words, np.array(t.keep), seed) for t in trees] if control else [t.heads for t in trees]
    gold = gold_of(trees, targets)
    with _alone():
        with span(0.0, 0.25):
            vectors, notices = read_vectors(model, words, layers)
        return _train_and_score(
            vectors, gold, sizes, probes, ranks, seed, epochs, with_heads=not control, layers=layers
        ) | {"notices": notices}


@pure("probes.baselines")
def score_baselines(words: Words, heads: Heads, keep: Keep, seed: int) -> Value:
    """Scores of the linear chain and of random trees on the test sentences.

    Returns:
        `edges` (sentence,), and for "chain" and "random" `..._hits`, `..._dspr`, `..._nspr`, `..._root` (1, sentence).
    """
    gold = gold_of([Tree(*rows) for rows in zip(words, heads, keep, strict=True)])
    tick(0.1, "baselines")
    chain, random = linear_chain(gold), random_trees(gold, np.random.default_rng(seed))
    return {"edges": chain.edges, **_columns("chain_", chain), **_columns("random_", random)}


@pure("probes.parser")
def score_parser(words: Words, heads: Heads, keep: Keep, pipeline: str, pipeline_identity: str) -> Value:
    """Scores of a parser's trees against gold heads.

    Args:
        words: Sentences with gold heads.
        heads: The gold heads.
        keep: Which words are not punctuation.
        pipeline: The parser.
        pipeline_identity: Fingerprint of its files; part of the key.

    Returns:
        `lengths`, `edges` (sentence,), `hits`, `dspr`, `nspr`, `root` (1, sentence); `attached` and `words` (sentence,)
        for unlabelled attachment.

    Raises:
        ModelError: If the parser is not there.
    """
    from core.text.parsing import parse_sentences

    gold = gold_of([Tree(*rows) for rows in zip(words, heads, keep, strict=True)])
    parses = [parse.heads for parse in parse_sentences(words, pipeline)]
    scores = parsed_trees(parses, gold)
    attached, counted = attachment(parses, gold)
    columns = _columns("", scores)
    return {"lengths": scores.lengths, "edges": scores.edges, **columns, "attached": attached, "words": counted}


def read_vectors(model: str, words: Sequence[Sequence[str]], layers: Sequence[int]) -> tuple[np.ndarray, list[str]]:
    """Vectors of all words, (item, layer, d_model): float16, or float32 where a value would overflow.

    A word of which the model's tokenizer leaves nothing stands at the origin, so that sentences stay whole; a notice
    counts them.
    """
    from core.vectors.activations import extract

    info = describe(model)
    chosen = list(layers) or list(range(info.layers + 1))
    total = sum(map(len, words))
    result = np.zeros((total, len(chosen), info.d_model), dtype=np.float16)
    notices: list[str] = []
    start = 0
    for first in range(0, len(words), CHUNK):
        chunk = words[first : first + CHUNK]
        with span(first / len(words), (first + len(chunk)) / len(words)):
            got = extract(model, chunk, layers=chosen)
        starts = start + np.concatenate([[0], np.cumsum([len(sentence) for sentence in chunk])])
        if result.dtype == np.float16 and np.abs(got.vectors).max(initial=0.0) > LARGEST_HALF:
            result = result.astype(np.float32)
        result[starts[got.sentence] + got.word] = got.vectors.swapaxes(0, 1)
        notices += [notice for notice in got.notices if notice not in notices]
        start = int(starts[-1])
    return result, notices


def _train_and_score(
    vectors: np.ndarray,
    gold: Gold,
    sizes: tuple[int, int, int],
    probes: tuple[str, ...],
    ranks: tuple[int, ...],
    seed: int,
    epochs: int,
    *,
    with_heads: bool,
    layers: tuple[int, ...],
) -> Value:
    """Train each kind of probe on the training vectors and score it on the test vectors."""
    import torch

    from core.probes.training import ProbeData, train_bank

    ends = np.cumsum(sizes)
    lengths = gold.lengths
    cuts = np.concatenate([[0], np.cumsum(lengths)])[[0, *ends]]
    sweep = len(ranks) > 1
    slots = [0] * len(ranks) if sweep else list(range(vectors.shape[1]))
    shown = tuple(layers) or tuple(range(vectors.shape[1]))
    value: Value = {"layers": np.array([shown[slot] for slot in slots])}
    value["ranks"] = np.array(ranks if sweep else list(ranks) * len(slots))
    test = gold.after(int(ends[1]))
    held = vectors[cuts[2] :][:, slots]
    predictions: dict[str, list[np.ndarray]] = {}
    for number, kind in enumerate(probes):
        targets = gold.distances if kind == "distance" else gold.depths
        data = [
            ProbeData(torch.from_numpy(vectors[cuts[part] : cuts[part + 1]]), targets[start:end])
            for part, (start, end) in enumerate(((0, ends[0]), (ends[0], ends[1])))
        ]
        with span(0.25 + 0.7 * number / len(probes), 0.25 + 0.7 * (number + 1) / len(probes)):
            bank = train_bank(
                *data, kind=kind, rank=list(value["ranks"]), layers=slots, seed=seed, epochs=epochs,
                device=_device(), report=tick,
            )  # fmt: skip
        value |= {f"{kind}_maps": bank.maps, f"{kind}_dev": bank.dev_losses, f"{kind}_best": bank.best_epoch}
        predict = predict_distances if kind == "distance" else predict_depths
        predictions[kind] = predict(bank.maps, held, test.lengths)
        scores = (score_distances if kind == "distance" else score_depths)(predictions[kind], test)
        value |= _columns("", scores) | ({"edges": scores.edges} if kind == "distance" else {})
    if with_heads and len(predictions) == 2 and not sweep:
        tick(0.97, "predicted trees")
        value["heads"] = predicted_trees(predictions["distance"], predictions["depth"], test.keep)
    return value


def _columns(prefix: str, scores: SentenceScores) -> Value:
    """The scores that are there, by name."""
    found = {name: getattr(scores, name) for name in ("hits", "dspr", "nspr", "root")}
    return {prefix + name: values.astype(np.float32) for name, values in found.items() if values is not None}


def _device() -> str:
    """A GPU where there is one; Apple's lacks operations that training needs."""
    return "cuda" if choose_device() == "cuda" else "cpu"


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Wait, cancellably, until no other probes are being trained in this process."""
    while not _ONE_AT_A_TIME.acquire(timeout=0.2):
        tick(0.0, "waiting for the other probes")
    try:
        yield
    finally:
        _ONE_AT_A_TIME.release()
