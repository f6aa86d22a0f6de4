"""What probes of all studies in this folder take: the memory of vectors, and passes of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.maths.structural.schedule import AT_HAND
from core.models import costs
from core.models.loading.language_models import predicts
from core.models.sizes import Size
from core.vectors.stored import CHUNK
from core.vectors.window import REACHES

CLASSES = {"pos": 17, "label": 40, "distance": 9}
WINDOW_WORDS = tuple(2 * reach + 1 for reach in REACHES)  # each is tried, one is used
USED = WINDOW_WORDS[1]  # a guess
PAIR_TOKENS = 10.5  # of a sentence of a minimal pair, special tokens included
SHORT = 1.4  # as long per token as a pass over the demo: short sentences, and the vocabulary
COPIES_BESIDE = 4.0  # as many bytes for layers beside a window: twice as wide, in single precision
HALF = 2.0  # bytes per number of the vectors that probes read
# Of the sentences that are read at once, the longest first: bytes per number of all their layers,
# as they are computed and stored, and their words over the mean
STORING, LONG = 8.0, 1.5
WORKING, PARSER = 2.5, 0.12  # copies of one model's vectors; gigabytes of the parser and its trees


def passes_per_pair(size: Size) -> float:
    """Count the passes that score a sentence of a minimal pair, as passes over one of the demo: one
    for each token that is masked, one in all for a causal model. The vocabulary of a large model is
    among the parameters that its passes are priced by."""
    once = (1.0 if costs.is_large(size) else SHORT) * PAIR_TOKENS / costs.SUBWORDS
    return once if predicts(size.architecture) == "causal" else once * (PAIR_TOKENS - 2)


def bytes_to_train(sizes: Mapping[str, Size], layers: Sequence[int], words: float) -> float:
    """Bytes of `bytes_held`, and of the vectors of two banks of probes in double precision."""
    double = costs.DOUBLE * _numbers(sizes, layers, words)
    return bytes_held(sizes, layers, words) + 2 * min(double, AT_HAND)


def bytes_held(sizes: Mapping[str, Size], layers: Sequence[int], words: float) -> float:
    """Bytes of the widest model's vectors and their copies, and of the model that reads a run of
    sentences in all layers, or the parser."""
    numbers = _numbers(sizes, layers, words)
    whole = {ref: size for ref, size in sizes.items() if not costs.is_large(size)}
    read = min(words, LONG * costs.WORDS * CHUNK)
    model = costs.resident(sizes, words / costs.WORDS) + STORING * _numbers(whole, (), read)
    return WORKING * HALF * numbers + max(model, PARSER * 1e9)


def _numbers(sizes: Mapping[str, Size], layers: Sequence[int], words: float) -> float:
    """Numbers in the vectors of the widest model."""
    widths = [(len(layers) or size.layers + 1) * size.d_model for size in sizes.values()]
    return words * max(widths, default=0)
