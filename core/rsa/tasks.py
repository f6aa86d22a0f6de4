"""The pure tasks of the RSA study: two models on the same items, layer by layer or every layer against every layer.

A task's arguments hold everything that its numbers depend on: references for loading, fingerprints for the key,
the words themselves. Vectors come from `core.activations`, which stores them a sentence at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import ModelError, ShapeError
from core.models import fingerprint, tokenizer_fingerprint
from core.rsa.measures import Options, compare, score
from core.rsa.preparing import prepare
from core.runner import span, tick
from core.store import Value

LEAST_ITEMS = 10
Words = tuple[tuple[str, ...], ...]
Kept = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Paired:
    """Vectors of the same items from two models, the second's layers already matched to the first's.

    Shapes: `base` (layer, item, d_model), `other` (layer, item, another d_model), `sentence` (item,).
    """

    base: NDArray[np.float32]
    other: NDArray[np.float32]
    sentence: NDArray[np.int64]
    notices: tuple[str, ...]


def identity(ref: str) -> str:
    """What a model's vectors depend on, for a task's key: weights and tokenizer; "" where it cannot be found.

    A model that cannot be found gets a task all the same, and the task fails with the reason.
    """
    try:
        return f"{fingerprint(ref)} {tokenizer_fingerprint(ref)}"
    except ModelError:
        return ""


def compare_models(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    sentences: Words,
    kept: Kept,
    items: str,
    measure: str,
    kernel: str,
    comparison: str,
    standardise: bool,
    drop_rogue: int,
    draws: int,
    seed: int,
) -> Value:
    """Similarity of two models by layer, with band and null.

    Args:
        base: Reference of the base model.
        other: Reference of the other model.
        base_identity: See `identity`; part of the key.
        other_identity: The same for the other model.
        sentences: Words of each sentence.
        kept: Positions of the sampled words of each sentence; empty where items are whole sentences.
        items: "words", "cls" or "mean".
        measure: One of `MEASURES`.
        kernel: For RSA.
        comparison: For RSA.
        standardise: Whether dimensions are standardised.
        drop_rogue: Rogue dimensions dropped.
        draws: Bootstrap draws.
        seed: Seed of the bootstrap and the null; every layer uses the same draws.

    Returns:
        `similarity`, `low`, `high`, `null_low`, `null_high`, each (layer,) float64; `items`, `d_model`, `sentences`
        and `notices`.

    Raises:
        ModelError: If a model cannot be loaded.
        ShapeError: If fewer than 10 items are left, or the measure refuses the shapes.
    """
    paired = _extract_pair(base, other, base_identity, other_identity, sentences, kept, items)
    columns: dict[str, list[float]] = {name: [] for name in ("similarity", "low", "high", "null_low", "null_high")}
    layers = len(paired.base)
    for layer in range(layers):
        tick(0.7 + 0.3 * layer / layers, f"layer {layer}")
        x = prepare(paired.base[layer], standardise, drop_rogue)
        y = prepare(paired.other[layer], standardise, drop_rogue)
        rng = np.random.default_rng(seed)
        result = score(x, y, paired.sentence, rng, measure, Options(kernel, comparison), draws)
        for name, values in columns.items():
            values.append(getattr(result, name))
    return {
        **{name: np.array(values) for name, values in columns.items()},
        "items": int(paired.base.shape[1]),
        "d_model": int(max(paired.base.shape[2], paired.other.shape[2])),
        "sentences": len(np.unique(paired.sentence)),
        "notices": list(paired.notices),
    }


def compare_layers(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    sentences: Words,
    kept: Kept,
    items: str,
    measure: str,
    kernel: str,
    comparison: str,
    standardise: bool,
    drop_rogue: int,
) -> Value:
    """Similarity of every layer of one model with every layer of the other.

    Arguments and errors as for `compare_models`.

    Returns:
        `similarity` (layer of the base, layer of the other), `items` and `notices`.
    """
    paired = _extract_pair(base, other, base_identity, other_identity, sentences, kept, items, match_layers=False)
    spaces = [[prepare(layer, standardise, drop_rogue) for layer in side] for side in (paired.base, paired.other)]
    similarity = np.zeros((len(spaces[0]), len(spaces[1])))
    for row, x in enumerate(spaces[0]):
        tick(0.7 + 0.3 * row / len(similarity), f"layer {row} against all")
        similarity[row] = [compare(x, y, measure, Options(kernel, comparison)) for y in spaces[1]]
    return {"similarity": similarity, "items": int(paired.base.shape[1]), "notices": list(paired.notices)}


def sample_words(
    sentences: Words, sample: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], tuple[tuple[int, ...], ...]]:
    """Words drawn at random from all sentences, each word as likely as any other.

    Args:
        sentences: Words of each sentence.
        sample: How many; all of them where there are fewer.
        rng: Source of randomness.

    Returns:
        The sentences that hold a sampled word, and the positions of the sampled words in each.
    """
    lengths = np.array([len(words) for words in sentences])
    total = int(lengths.sum())
    chosen = np.sort(rng.choice(total, size=min(sample, total), replace=False))
    sentence = np.searchsorted(np.cumsum(lengths), chosen, side="right")
    position = chosen - (np.cumsum(lengths) - lengths)[sentence]
    used = np.unique(sentence)
    return used, tuple(tuple(int(word) for word in position[sentence == number]) for number in used)


def _extract_pair(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    sentences: Words,
    kept: Kept,
    items: str,
    match_layers: bool = True,
) -> Paired:
    """Vectors of the items that both models have, in one order."""
    from core.activations import extract, in_common

    for ref, known in ((base, base_identity), (other, other_identity)):
        if not known:
            fingerprint(ref)  # raises the reason that `identity` met
            tokenizer_fingerprint(ref)
            raise ModelError(f"{ref} could not be found at first and can be now: run again.")
    keep = kept if items == "words" else None
    with span(0.0, 0.35):
        first = extract(base, sentences, items=items, keep=keep)
    with span(0.35, 0.7):
        second = extract(other, sentences, items=items, keep=keep)
    notices = [*first.notices, *(notice for notice in second.notices if notice not in first.notices)]
    first, second = in_common([first, second])
    if len(first.sentence) < LEAST_ITEMS:
        left = len(first.sentence)
        raise ShapeError(f"Only {left} items are left, and {LEAST_ITEMS} are needed: use more or shorter text.")
    one, two = first.vectors, second.vectors
    if match_layers and len(one) != len(two):
        notices.append(
            f"{base} has {len(one) - 1} layers and {other} {len(two) - 1}: layers are matched by relative depth."
        )
        two = two[np.round(np.linspace(0, len(two) - 1, len(one))).astype(int)]
    return Paired(one, two, first.sentence, tuple(notices))
