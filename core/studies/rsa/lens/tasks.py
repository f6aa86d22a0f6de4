"""The pure tasks of the lenses: what a model's layers say, and what its change from a base says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import ModelError
from core.maths.ranks import area
from core.models.identity import check_tokenizers
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick
from core.vectors.forward import cut_sentences
from core.vectors.predicting import check_halves, open_to_ask, pad_sentences, times_read

if TYPE_CHECKING:
    from core.models.loading.model import LoadedModel
    from core.studies.rsa.lens.lenses import Head
    from core.vectors.predicting import Asked


NAMED = 10  # words that are written down of a difference
SHUFFLES = 40  # of the dimensions of a difference
TIMES, OFTEN = 2.0, 3  # of a typical token: how much more frequent it is, and how often seen
LEAST_TYPICAL = 10  # tokens of each text without which no AUC is computed
TYPICAL, UNTYPICAL = 1, -1  # of the fine-tune's text; of the unrelated text
PREDICTING = 1.7e-8  # processor seconds per state and token of the vocabulary
READ_DIFFERENCES = SHUFFLES + 3  # the difference, its halves, and shuffles


def _layers_cost(
    sizes: Mapping[str, Size], model: str, base: str, sentences: Words, **_: Any
) -> Cost:
    size, read = sizes[model], len(sentences)
    tokens, each = costs.vocabulary(size), times_read(sizes, model, base)
    asked = costs.SUBWORDS * read / 2
    seconds = costs.running(size, read, each) + costs.opening(sizes[base])
    seconds += 2 * (size.layers + 1) * asked * tokens * PREDICTING
    kept = costs.SUBWORDS * read / 2 * (size.layers + 1) * size.d_model * costs.DOUBLE
    return Cost(seconds, 2 * costs.SINGLE * size.parameters + 2 * kept)


def _change_cost(
    sizes: Mapping[str, Size], model: str, base: str, sentences: Words, **_: Any
) -> Cost:
    size, read = sizes[model], len(sentences)
    tokens, each = costs.vocabulary(size), times_read(sizes, model, base)
    seconds = costs.running(size, read, 2 + each, loads=2) + 2 * costs.opening(sizes[base])
    seconds += each * costs.SUBWORDS * read * tokens * PREDICTING
    seconds += 2 * (size.layers + 1) * READ_DIFFERENCES * tokens * PREDICTING
    return Cost(seconds, 3 * costs.SINGLE * size.parameters)


@pure("rsa.lens", version=2, guard=as_identified, cost=_layers_cost)
def read_layers(
    model: str,
    base: str,
    model_identity: str,
    base_identity: str,
    sentences: Words,
    typed: tuple[str, ...],
) -> Value:
    """Read each layer through the head, as it is and after an affine map that half of the sentences
    fit: `sentence`, `kl`, `same` and `first` of `measure_lenses`; of the typed words, `token`
    (place,), `said` and `said_kl` (lens, layer, place). Raises CorpusError for a single sentence,
    ModelError if the model cannot be read or predicts no tokens."""
    from core.studies.rsa.lens.lenses import Head, fit_maps, measure_lenses

    check_halves(sentences)
    with span(0.0, 0.1):
        loaded, ask = open_to_ask(model, base)
    head = Head.of(loaded.model)
    scored, fitted = (ask(loaded, sentences[part::2]) for part in (0, 1))
    tick(0.1, "maps of the tuned lens")
    maps = fit_maps(loaded.model, fitted)
    tick(0.4, "lenses on the text")
    value = measure_lenses(head, maps, scored)
    written: Value = {"token": [], "said": [], "said_kl": []}
    if typed:
        tick(0.9, "lenses on the sentence")
        written = _written(loaded, measure_lenses(head, maps, ask(loaded, (typed,))))
    value["kl"] = value["kl"].astype(np.float16)  # to half a thousandth; many are kept
    return {name: value[name] for name in ("sentence", "kl", "same", "first")} | written


def _written(loaded: LoadedModel, seen: Value) -> Value:
    """Put the places of a sentence in order and write their tokens."""
    order = np.argsort(seen["place"])
    tops = seen["top"][..., order]
    spelled = np.array(loaded.tokenizer.tokens(tops.ravel().tolist())).reshape(tops.shape)
    tokens = loaded.tokenizer.tokens(seen["answer"][order].tolist())
    return {"token": tokens, "said": spelled.tolist(), "said_kl": seen["kl"][..., order]}


@pure("rsa.change_lens", guard=as_identified, cost=_change_cost)
def read_change(
    model: str,
    base: str,
    model_identity: str,
    base_identity: str,
    sentences: Words,
    typical: Words,
    seed: int,
) -> Value:
    """Read the mean difference of a model's states from its base's through its head (`_said`), with
    its `length`, a share of the base's mean state (group, layer), and which tokens the output
    raises (`_raised`). Raises ModelError if the two cannot be subtracted or do not differ."""
    from core.studies.rsa.lens.lenses import Head, sum_states

    check_tokenizers(base, model, "their states are not of the same subwords")
    with span(0.0, 0.1):
        first, ask = open_to_ask(base, base)
        second, _ = open_to_ask(model, base)
    kinds = typical_tokens(first, typical, sentences)
    heads = Head.of(first.model), Head.of(second.model)
    tick(0.1, "states of both models")
    padded = list(pad_sentences(first, sentences))
    causal = first.info.family == "decoder"
    sums = [sum_states(head.model, padded, skip_first=causal) for head in heads]
    if sums[0][0].shape != sums[1][0].shape:
        raise ModelError(
            f"{model} and {base} have other numbers of layers or dimensions, so their states "
            "cannot be subtracted: choose a fine-tune of the base."
        )
    whole, halves, length = subtract_means(*sums)
    if not np.any(whole):
        raise ModelError(
            f"No state of {model} differs from that of {base}, so nothing has changed that could "
            "say a word: choose a fine-tune of the base."
        )
    tick(0.4, "differences through the head")
    value = _said(second, heads[1], whole, halves, kinds, seed)
    tick(0.7, "raised tokens")
    value |= _raised(second, heads, ask(first, sentences), kinds)
    counted = [int((kinds == kind).sum()) for kind in (TYPICAL, UNTYPICAL)]
    return value | {"length": length, "typical": counted}


def typical_tokens(loaded: LoadedModel, typical: Words, other: Words) -> np.ndarray:
    """Tell which tokens of the vocabulary are typical of a text (TYPICAL), of another (UNTYPICAL)
    or of neither (0), (token,): TIMES as frequent, and seen OFTEN times."""
    seen = [
        [token for sentence in cut_sentences(loaded.tokenizer, text) for token in sentence.inside]
        for text in (typical, other)
    ]
    tokens = 1 + max((max(text, default=0) for text in seen), default=0)
    counts = np.array([np.bincount(text, minlength=tokens) for text in seen])
    rates = (counts + 0.5) / (counts.sum(1, keepdims=True) + 0.5 * tokens)
    kinds = np.zeros(tokens, dtype=np.int64)
    kinds[(rates[0] >= TIMES * rates[1]) & (counts[0] >= OFTEN)] = TYPICAL
    kinds[(rates[1] >= TIMES * rates[0]) & (counts[1] >= OFTEN)] = UNTYPICAL
    return kinds


def subtract_means(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Subtract a base's mean states from a fine-tune's, both as `lenses.sum_states` sums them: of
    the text, (group, layer, width), and of its halves; and how long the differences are, as a share
    of the base's mean states, (group, layer)."""
    (base, counts), (tuned, _) = before, after
    halves = (tuned - base) / np.maximum(counts, 1)[..., None, None]
    of_all = np.maximum(counts.sum(0), 1)[..., None, None]
    whole, mean = (tuned - base).sum(0) / of_all, base.sum(0) / of_all
    length = np.linalg.norm(whole, axis=-1) / np.maximum(np.linalg.norm(mean, axis=-1), 1e-12)
    return whole, halves, length


def _said(
    loaded: LoadedModel,
    head: Head,
    whole: np.ndarray,
    halves: np.ndarray,
    kinds: np.ndarray,
    seed: int,
) -> Value:
    """Read differences through the head, by group of places and layer: `words`, the NAMED most
    promoted, their `kinds` and `stable`, the share of them in both halves; `auc` of typical tokens,
    and of halves and shuffled dimensions. Words are "" and numbers NaN where nothing differs."""
    rng = np.random.default_rng(seed)
    shuffled = np.stack([rng.permuted(whole, axis=-1) for _ in range(SHUFFLES)])
    rows = np.concatenate([whole[None], halves, shuffled])  # (reading, group, layer, width)
    aucs, tops = [], []
    for logits in head.read_differences(rows.reshape(-1, rows.shape[-1])):
        aucs += [promotion(row, kinds) for row in logits]
        tops.append(np.argsort(-logits, axis=1, kind="stable")[:, :NAMED])
    shape = rows.shape[:-1]
    top = np.concatenate(tops).reshape(*shape, -1)
    differs = np.linalg.norm(rows, axis=-1) > 0
    auc = np.where(differs, np.array(aucs).reshape(shape), np.nan)
    shared = [
        [len({*left} & {*right}) / top.shape[-1] for left, right in zip(*pair, strict=True)]
        for pair in zip(top[1], top[2], strict=True)
    ]
    words = np.array(loaded.tokenizer.tokens(top[0].ravel().tolist())).reshape(top[0].shape)
    parts = 1 + len(halves)
    return {
        "words": np.where(differs[0][..., None], words, "").tolist(),
        "kinds": _kinds_of(top[0], kinds),
        "stable": np.where(differs[0], np.array(shared), np.nan),
        "auc": auc[0],
        "halves": auc[1:parts],
        "shuffled": auc[parts:],
    }


def promotion(scores: np.ndarray, kinds: np.ndarray) -> float:
    """Compute the AUC with which typical tokens score above those of the other text; NaN where
    there are fewer than LEAST_TYPICAL of either."""
    kinds = kinds[: len(scores)]
    places = np.flatnonzero(kinds)
    typical = kinds[places] == TYPICAL
    if min(typical.sum(), (~typical).sum()) < LEAST_TYPICAL:
        return float("nan")
    return area(typical, scores[places].astype(np.float64))


def _kinds_of(tokens: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    return np.where(tokens < len(kinds), kinds[np.minimum(tokens, len(kinds) - 1)], 0)


def _raised(
    loaded: LoadedModel, heads: tuple[Head, Head], asked: Asked, kinds: np.ndarray
) -> Value:
    """Find the tokens that are often among the NAMED `raised` most, their `raised_kinds` and `hits`
    (token, place) by `sentence` (place,); and `output_auc`, of the mean change of the logits."""
    from core.studies.rsa.lens.lenses import raise_words

    batches = list(raise_words(*heads, asked, NAMED))
    sentence, top = (np.concatenate(part) for part in list(zip(*batches, strict=True))[:2])
    total = np.sum([part for _, _, part in batches], axis=0)
    often = np.argsort(-np.bincount(top.ravel(), minlength=len(total)), kind="stable")[:NAMED]
    return {
        "output_auc": promotion(total, kinds),
        "raised": loaded.tokenizer.tokens(often.tolist()),
        "raised_kinds": _kinds_of(often, kinds),
        "hits": np.stack([(top == token).any(1) for token in often]),
        "sentence": sentence,
    }
