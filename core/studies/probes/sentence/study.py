"""Apply trained probes to any sentence: typed text, or a test sentence with its tree."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.errors import CorpusError
from core.runs.runner import run
from core.runs.tasks import pure
from core.studies.kit import Result, Task
from core.studies.probes.trees.data import Tree, as_tree
from core.studies.probes.trees.result import TrainedResult
from core.studies.probes.trees.tasks import read_vectors
from core.vectors.model_files import with_model_files
from core.vectors.vocabulary import (
    lost_capitals,
    unknown_share,
    with_lost_capitals,
    with_unknown_share,
)

SENTENCE = "sentence"  # role of the task
# at first
SENTENCE_SHOWN = (
    "The keys that the old captain left on the kitchen table were gone before breakfast."
)
LONGEST = 200  # words; longer sentences are illegible in arcs and heatmaps


def read_text(text: str, pipeline: str = "box") -> list[Tree]:
    """Cut typed text into sentences and parse them. Raises CorpusError if there is no word in it or
    a sentence is too long to draw, ModelError if the parser is not installed."""
    from core.text.conllu import Sentence
    from core.text.parsing import parse_sentences, tokenize_lines

    line = "".join(character if character.isprintable() else " " for character in text)
    sentences = tokenize_lines([line])[0]
    if not sentences:
        raise CorpusError("There is no word in this text. Type a sentence.")
    longest = max(map(len, sentences))
    if longest > LONGEST:
        raise CorpusError(
            f"A sentence has {longest} words, too many for a legible drawing. "
            f"Type at most {LONGEST}."
        )
    return [
        as_tree(Sentence(words, parse.heads, upos=parse.upos, xpos=parse.xpos, deprel=parse.deprel))
        for words, parse in zip(sentences, parse_sentences(sentences, pipeline), strict=True)
    ]


@dataclass(frozen=True)
class SentenceSpec:
    """The sentences that a model reads: typed text, or one sentence with its tree.

    Attributes:
        model: Reference.
        layers: Layers whose vectors are read.
        text: Typed text, to be split into sentences and parsed; empty where a sentence is given.
        pipeline: The parser of typed text.
        words, heads, keep, labels: One sentence as in `Tree`.
    """

    model: str
    layers: tuple[int, ...]
    text: str = ""
    pipeline: str = "box"
    words: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    keep: tuple[bool, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class SentencesRead(Result):
    """Sentences with their trees, and a model's vectors of their words.

    Attributes:
        trees: The sentences.
        vectors: (word, layer, d_model) of each, layers in the order of the spec.
    """

    trees: tuple[Tree, ...] = ()
    vectors: tuple[np.ndarray, ...] = ()


def run_sentences(spec: SentenceSpec, **options: Any) -> SentencesRead:
    """Parse typed text and read its vectors, in a run, since both may take seconds. Raises
    CorpusError if there is no word, or a sentence is too long to draw or for the model; ModelError
    if the model or the parser cannot be loaded."""
    outputs = run(
        [Task.of("sentence", read_sentences, role=SENTENCE, fleeting=True, spec=spec)], **options
    )
    trees, vectors, share, lost = outputs.need(SENTENCE)
    read = SentencesRead("sentence", asdict(spec), "", {}, trees=trees, vectors=vectors)
    read = with_lost_capitals(read, (spec.model,), lost)
    told = with_unknown_share(read, (spec.model,), share, "sentence", capitals=bool(lost))
    return with_model_files(told, spec)


@pure("probes.sentence", version=2)
def read_sentences(
    spec: SentenceSpec,
) -> tuple[tuple[Tree, ...], tuple[np.ndarray, ...], float, str]:
    """Trees and vectors of a `SentenceSpec`, the share of unknown words, and what `lost_capitals`
    says; raises as `run_sentences`."""
    from core.vectors.activations import fitting

    given = Tree(spec.words, spec.heads, spec.keep, labels=spec.labels)
    trees = read_text(spec.text, spec.pipeline) if not spec.words else [given]
    words = [tree.words for tree in trees]
    for tree, fits in zip(trees, fitting(spec.model, words), strict=True):
        if not fits:
            raise CorpusError(
                f"This sentence of {len(tree.words)} words is too long for {spec.model}. "
                "Shorten it."
            )
    vectors, _ = read_vectors(spec.model, words, spec.layers)
    parts = np.split(vectors, np.cumsum([len(sentence) for sentence in words])[:-1])
    share = unknown_share(spec.model, words)
    return tuple(trees), tuple(parts), share, lost_capitals(spec.model)


def ranked_sentences(
    result: TrainedResult, model: str, layer: int, worst: bool = True, shortest: int = 6
) -> list[int]:
    """Rank the test sentences of at least `shortest` words (not punctuation) by UUAS at a layer,
    the worst (or best) first; of equals, longer ones first."""
    probes = result.probes[model]
    if probes.uuas is None:
        return []
    scores = probes.uuas[probes.layers.index(layer)]
    sizes = np.array([sum(tree.keep) for tree in result.test])
    chosen = np.flatnonzero(np.isfinite(scores) & (sizes >= shortest))
    order = np.lexsort((-sizes[chosen], scores[chosen] if worst else -scores[chosen]))
    return [int(i) for i in chosen[order]]
