"""What the sentences of a study are written with: facts and their numbers, names of models and
layers, lists and plurals, and the study's file of words."""

from core.errors import by_number, counted, first_of, listed, more_in_table, sentence_of
from core.results.estimates import Estimate, estimate_of
from core.results.names import layers_in_words, short_name, short_names
from core.results.numbers import Kind, text_of
from core.results.statements import TWO_LINES, Statement
from core.results.words import words_beside

__all__ = [
    "TWO_LINES",
    "Estimate",
    "Kind",
    "Statement",
    "by_number",
    "counted",
    "estimate_of",
    "first_of",
    "layers_in_words",
    "listed",
    "more_in_table",
    "sentence_of",
    "short_name",
    "short_names",
    "text_of",
    "words_beside",
]
