"""Control trees: how well does a probe learn meaningless trees?

Every word type has one random, fixed rule for its head: the word before it, the second word before
it, or the first word of the sentence; the first word is the root. A probe can predict such trees
only by memorising the rule of each type and from positions. A real score far above the control
score (high selectivity) therefore means that the structure was in the vectors, not learned by the
probe.

Scores vary by points between draws of the rules, so that a study averages over several. The depth
of a word in such a tree mostly follows its position (every head is to the left), so that control
depths are learned from positions, and the selectivity of a depth probe is little more than its
margin over position.

Reference: Hewitt & Liang 2019, EMNLP, "Designing and Interpreting Probes with Control Tasks",
section 2.3 (the dependency-edge control task). Deviations: their rules (the word itself, the first,
the last) do not give trees; ours always do, since every head is to the left. Punctuation, which no
score counts, is attached to the first word and skipped when counting words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from core.errors import ShapeError

RULES = ("previous", "second before", "first")


def control_rule(word: str, seed: int = 0, draw: int = 0) -> int:
    """Index of a word type's rule, the same in every sentence, process and machine.

    Example:
        >>> control_rule("cat") == control_rule("cat")
        True
        >>> control_rule("cat", draw=1) in range(4)
        True
    """
    digest = hashlib.sha256(f"{seed}\0{draw}\0{word}".encode("utf8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % len(RULES)


def control_heads(
    words: Sequence[str], keep: Bool[np.ndarray, " word"], seed: int = 0, draw: int = 0
) -> tuple[int, ...]:
    """The control tree of a sentence: 1-based heads, 0 for the root.

    Args:
        words: The sentence; types are distinguished as written (see `Tokenizer.forms`).
        keep: Words that are not punctuation; without any, all words count.
        seed: Of the study.
        draw: Number of the draw; each has other rules.

    Raises:
        ShapeError: If there are no words, or the mask is not as long as the sentence.

    Example:
        >>> heads = control_heads(("the", "cat", "sat"), np.ones(3, dtype=bool))
        >>> heads.count(0), max(heads) <= 3
        (1, True)
    """
    if not words or len(words) != len(keep):
        raise ShapeError(
            "A control tree needs at least 1 word and a mask of equal length; "
            f"got {len(words)} and {len(keep)}."
        )
    counted = [i for i, counts in enumerate(keep) if counts] or list(range(len(words)))
    heads = [counted[0] + 1] * len(words)
    heads[counted[0]] = 0
    for place, i in enumerate(counted[1:], start=1):
        back = (place - 1, max(place - 2, 0), 0)[control_rule(words[i], seed, draw)]
        heads[i] = counted[back] + 1
    return tuple(heads)
