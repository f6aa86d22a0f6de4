"""What the sentences of a study are written with: what was found, its names and its numbers."""

from core.errors import by_number, first_of, listed
from core.results.estimates import Estimate, estimate_of
from core.results.names import layers_in_words, short_name, short_names
from core.results.numbers import text_of
from core.results.statements import TWO_LINES, Statement, leading
from core.results.words import words_beside

__all__ = [
    "TWO_LINES",
    "Estimate",
    "Statement",
    "by_number",
    "estimate_of",
    "first_of",
    "layers_in_words",
    "leading",
    "listed",
    "short_name",
    "short_names",
    "text_of",
    "words_beside",
]
