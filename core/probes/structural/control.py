"""Control trees: how well does a probe learn trees that mean nothing?

Every word type draws, once and for all, one of three rules for finding its head: the word before it, the second
word before it, or the first word of the sentence; the first word is the root. A probe scores on such trees only by
remembering what each type drew and where words stand, so a real score far above the control's (selectivity) says
that the structure was in the vectors and not learned by the probe.

One draw of the rules is one language among many, and scores on it vary by points: a study takes several draws. A
word's depth in such a tree is mostly how far right it stands (every step up leads left, to the first word in the
end), so control depths are learned from positions: selectivity of a depth probe says little more than how much
better than position it does.

Reference: Hewitt & Liang 2019, EMNLP, "Designing and Interpreting Probes with Control Tasks", section 2.3 (the
dependency-edge control task). Deviations: their rules (the word itself, the first, the last) do not make trees; ours
always do, since every head stands to the left. Punctuation, which no score counts, hangs from the first word and
is skipped when counting words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from core.errors import ShapeError

RULES = ("previous", "second before", "first")


def control_rule(word: str, seed: int = 0, draw: int = 0) -> int:
    """Index of the rule that a word type drew: the same in every sentence, process and machine.

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
        words: The sentence; types are told apart as written (see `Tokenizer.forms`).
        keep: Words that are not punctuation; without any, all words count.
        seed: Of the study.
        draw: Another draw, another language of rules.

    Raises:
        ShapeError: If there are no words, or the mask is not as long as the sentence.

    Example:
        >>> heads = control_heads(("the", "cat", "sat"), np.ones(3, dtype=bool))
        >>> heads.count(0), max(heads) <= 3
        (1, True)
    """
    if not words or len(words) != len(keep):
        raise ShapeError(f"A control tree needs words and a mask as long: got {len(words)} and {len(keep)}.")
    counted = [i for i, kept in enumerate(keep) if kept] or list(range(len(words)))
    heads = [counted[0] + 1] * len(words)
    heads[counted[0]] = 0
    for place, i in enumerate(counted[1:], start=1):
        back = (place - 1, max(place - 2, 0), 0)[control_rule(words[i], seed, draw)]
        heads[i] = counted[back] + 1
    return tuple(heads)
