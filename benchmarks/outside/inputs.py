"""What the app and the code of others are both given: included sentences."""

from __future__ import annotations

import numpy as np

Numbers = dict[str, np.ndarray]
Words = list[list[str]]
DECODER, MASKED = "zoo:decoder-0", "zoo:seed-0"
SENTENCES, FEW = 20, 3  # of the included text; of these in the tests


def sentences(small: bool) -> Words:
    """Words of included sentences."""
    from core.text.corpora import read_corpus

    return [list(words) for words in read_corpus("demo-gold", FEW if small else SENTENCES).words]
