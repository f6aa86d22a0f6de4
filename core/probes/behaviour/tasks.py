"""The pure tasks of the study of behaviour: minimal pairs scored by a model or by bigrams."""

from __future__ import annotations

import numpy as np

from core.errors import ModelError
from core.limits import LOCAL
from core.models import load_tokenizer
from core.models.identity import as_identified
from core.models.loading.language_models import Kind, head_of
from core.models.loading.model import load_with_head
from core.probes.minimal_pairs.bigrams import Bigrams
from core.probes.minimal_pairs.templates import Pair, make_pairs
from core.runs.store import Value
from core.runs.tasks import pure
from core.text.corpora import read_corpus
from core.text.labelled import read_labelled
from core.vectors.forward import cut_sentences
from core.vectors.notices import read_by_layer

Sentences = tuple[tuple[str, ...], ...]
BEGIN = -1  # begins every sentence; no token has this id


@pure("probes.language_head")
def find_head(ref: str) -> str:
    """Tell how a model's language-model head reads a sentence, "masked" or "causal"; "" without
    one.

    Raises:
        ModelError: If the model cannot be found.
    """
    return head_of(ref) or ""


@pure("probes.included_sentences")
def read_included() -> Sentences:
    """Read the included sentences, from which bigrams are counted: the demo, and the labelled ones;
    all of them on a shared instance, too.

    Raises:
        CorpusError: If they are not there.
    """
    labelled = (tuple(text.split()) for text, _ in read_labelled())
    return (*read_corpus("demo", limits=LOCAL).words, *labelled)


@pure("probes.minimal_pairs", guard=as_identified)
def score_pairs(model: str, model_identity: str, head: Kind, kind: str, pairs: int) -> Value:
    """Score both sentences of each minimal pair with a model's language-model head.

    Args:
        model: Reference.
        model_identity: Fingerprints of weights and tokenizer; part of the key.
        head: Whether the head is that of a masked or of a causal model.
        kind: Of `templates.KINDS`.
        pairs: How many.

    Returns:
        `good` and `bad` (pair,): log-likelihoods in nats; `notices` where there are any.

    Raises:
        ModelError: If the model cannot be loaded, or its scores are not numbers.
    """
    from core.probes.minimal_pairs.scoring import score_sentences

    made = make_pairs(kind, pairs)
    loaded = load_with_head(model, layerwise=True)
    scores = score_sentences(loaded, head, _sentences(made))
    if not np.isfinite(scores).all():
        raise ModelError(
            f"{model} gives sentences probabilities that are not numbers: choose another model."
        )
    value: Value = {"good": scores[:pairs], "bad": scores[pairs:]}
    if loaded.layerwise:
        value["notices"] = [read_by_layer(model, loaded.info.parameters)]
    return value


@pure("probes.bigram_pairs", guard=as_identified)
def score_bigrams(
    model: str, model_identity: str, sentences: Sentences, kinds: tuple[str, ...], pairs: int
) -> Value:
    """Score minimal pairs with a bigram model, counted from sentences in a model's tokens.

    Args:
        model: Reference of the model whose tokenizer is used.
        model_identity: Fingerprints of weights and tokenizer; part of the key.
        sentences: What is counted.
        kinds: Of `templates.KINDS`.
        pairs: How many of each kind.

    Returns:
        For each kind `good/{kind}` and `bad/{kind}` (pair,): log-likelihoods in nats; `tokens`, the
        number counted.

    Raises:
        ModelError: If the tokenizer cannot be used.
    """
    tokenizer = load_tokenizer(model)

    def numbered(texts: Sentences) -> list[list[int]]:
        return [[BEGIN, *cut.inside] for cut in cut_sentences(tokenizer, texts)]

    counted = numbered(sentences)
    made = {kind: numbered(_sentences(make_pairs(kind, pairs))) for kind in kinds}
    every = {token for rows in (counted, *made.values()) for row in rows for token in row[1:]}
    bigrams = Bigrams(counted, len(every))
    value: Value = {"tokens": bigrams.tokens}
    for kind, rows in made.items():
        scores = np.array([bigrams.score(row) for row in rows])
        value |= {f"good/{kind}": scores[:pairs], f"bad/{kind}": scores[pairs:]}
    return value


def _sentences(pairs: tuple[Pair, ...]) -> Sentences:
    """The acceptable sentences, then the unacceptable ones."""
    return (*(pair.good for pair in pairs), *(pair.bad for pair in pairs))
