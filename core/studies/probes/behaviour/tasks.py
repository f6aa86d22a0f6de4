"""The pure tasks of the study of behaviour: minimal pairs scored by a model or by bigrams.

A value holds `good` and `bad` (pair,), log-likelihoods of the critical region in nats; `whole_good`
and `whole_bad`, those of the whole sentences; and `notices` where there are any. Of bigrams, each
name has `/{kind}` after it, and `tokens` is how many were counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ModelError
from core.limits import LOCAL
from core.models import load_tokenizer
from core.models.loading.language_models import Kind, head_of, predicts
from core.models.loading.model import load_with_head
from core.models.loading.reading import LOGITS
from core.studies.probes.costs import passes_per_pair
from core.studies.probes.minimal_pairs.bigrams import Bigrams
from core.studies.probes.minimal_pairs.pairs_file import Own, own_pairs
from core.studies.probes.minimal_pairs.templates import Pair, make_pairs, region_scores
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure
from core.text.corpora import read_corpus
from core.text.labelled import read_labelled
from core.vectors.forward import cut_sentences
from core.vectors.notices import read_by_layer

Sentences = tuple[tuple[str, ...], ...]
LENGTHS = 2.0  # different lengths of the sentences of one kind, each a batch
COUNTING = 0.5  # processor seconds of the bigrams
BEGIN = -1  # begins every sentence; no token has this id


@pure(
    "probes.language_head", expect=lambda sizes, ref: predicts(sizes[ref].architecture) or "masked"
)
def find_head(ref: str) -> str:
    """Tell how a model's language-model head reads a sentence, "masked" or "causal"; "" without
    one. Raises ModelError if the model cannot be found."""
    return head_of(ref) or ""


@pure("probes.included_sentences", expect=lambda sizes: ())
def read_included() -> Sentences:
    """Read the sentences from which bigrams are counted, the demo and the labelled ones; all of
    them on a shared instance, too. Raises CorpusError if they are not there."""
    labelled = (tuple(text.split()) for text, _ in read_labelled())
    return (*read_corpus("demo", limits=LOCAL).words, *labelled)


def _pairs_cost(sizes: Mapping[str, Size], model: str, pairs: int, own: Own = (), **_: Any) -> Cost:
    size, pairs = sizes[model], len(own) or pairs
    memory = costs.resident({model: size}, head=True)
    if costs.is_large(size):
        memory += LOGITS * costs.SINGLE
    seconds = costs.passes(size, 2 * pairs, passes_per_pair(size), LENGTHS)
    return Cost(seconds, shared={("head", model): Cost(0.0, memory)})  # one is borrowed at a time


@pure("probes.minimal_pairs", version=2, guard=as_identified, cost=_pairs_cost)
def score_pairs(
    model: str, model_identity: str, head: Kind, kind: str, pairs: int, own: Own = ()
) -> Value:
    """Score both sentences of each pair of a kind, or of a reader's `own`. Raises ModelError if the
    model cannot be loaded, or its scores are not numbers."""
    from core.studies.probes.minimal_pairs.scoring import score_words

    made = own_pairs(own) or make_pairs(kind, pairs)
    loaded = load_with_head(model, layerwise=True)
    scores = score_words(loaded, head, _sentences(made))
    if not np.isfinite(scores).all():
        raise ModelError(
            f"{model} gives sentences probabilities that are not numbers: choose another model."
        )
    value: Value = {**_readings(scores, made)}
    if loaded.layerwise:
        value["notices"] = [read_by_layer(model, loaded.info.parameters)]
    return value


@pure(
    "probes.bigram_pairs",
    version=2,
    guard=as_identified,
    cost=lambda sizes, **_: Cost(COUNTING),
)
def score_bigrams(
    model: str,
    model_identity: str,
    words: Sentences,
    kinds: tuple[str, ...],
    pairs: int,
    own: Own = (),
) -> Value:
    """Score the pairs of several kinds with bigrams counted in `words`, as the model's tokenizer
    cuts them. Raises ModelError if the tokenizer cannot be used."""
    tokenizer = load_tokenizer(model)

    counted = [[BEGIN, *cut.inside] for cut in cut_sentences(tokenizer, words)]
    made = {kind: own_pairs(own) or make_pairs(kind, pairs) for kind in kinds}
    cut = {kind: cut_sentences(tokenizer, _sentences(each)) for kind, each in made.items()}
    every = {token for row in counted for token in row[1:]}
    every |= {token for rows in cut.values() for row in rows for token in row.inside}
    bigrams = Bigrams(counted, len(every))
    value: Value = {"tokens": bigrams.tokens}
    for kind, rows in cut.items():
        scores = np.zeros((len(rows), max(row.length for row in rows)))
        for sums, row in zip(scores, rows, strict=True):
            owners = [word for word in row.words if word >= 0]
            np.add.at(sums, owners, bigrams.score([BEGIN, *row.inside]))
        value |= {f"{name}/{kind}": row for name, row in _readings(scores, made[kind]).items()}
    return value


def _readings(words: NDArray[np.float64], pairs: Sequence[Pair]) -> dict[str, NDArray[np.float64]]:
    """The scores of pairs in both readings, of the log-likelihoods of their words."""
    (good, bad), whole = region_scores(words, pairs), words.sum(axis=1)
    count = len(pairs)
    return {"good": good, "bad": bad, "whole_good": whole[:count], "whole_bad": whole[count:]}


def _sentences(pairs: Sequence[Pair]) -> Sentences:
    """The acceptable sentences, then the unacceptable ones."""
    return (*(pair.good for pair in pairs), *(pair.bad for pair in pairs))
