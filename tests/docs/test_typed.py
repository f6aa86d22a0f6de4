"""A number in findings, README and the table of rivals is filled in from a result, or is none."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from docs.make import numbers
from tests import ROOT

NO_RESULT = (
    r"(?i:\blayers?) \d(?:(?:,| and| to| or) \d)*\b",  # which layer
    r"\b(?:rank|ranks|step|steps|seed) \d+(?:(?:,| and) \d+)*\b",
    r"\b(?:19|20)\d\d\b(?!,)",  # a year
    r"\barXiv(?:\.org/abs/| )\d{4}\.\d{4,5}\b",
    r"\b95 % (?:intervals?|within)\b|\b95 %\s+intervals?\b",  # the level of all intervals
    r"\b[a-zA-Z]+(?:-[a-z]+)*-\d\b",  # a model
    r"\b1 − (?:RSA|similarity)\b",
)
NO_TEXT = (  # code, links, comments, what heads a table or a row
    r"```.*?```",
    r"`[^`\n]*(?:\n[^`\n]*)?`",
    r"\]\([^)]*\)",
    r"^\|.*\|(?=\n\|[-:| ]+\|$)",
    r"<!--.*?-->",
)
FIRST_CELLS = r"^\|[^|]*\|"  # in the findings, where tables are of results
ALLOWED: Mapping[str, Mapping[str, str]] = {
    "docs/findings.md": {
        "6 layers, 128 dimensions": "size of the included models",
        "included models are 128 wide, theirs 768": "the same",
        "layers 3 to 6 and 4 to 6": "which layers",
        "below .06": "held beside it",
        "guessing (.5)": "AUC of a coin",
        "costs exactly 0": "by construction",
        "RSA is 1 through": "by construction",
        "3,000 training sentences": "size of the data",
        "(1, 2 or 4 words to each side)": "options of the window",
        "the words of 20 included sentences": "size of the data",
        "each p < .001": "held beside it",
        "where chance is 50": "signs of a coin",
        "each times .75": "a scale, in the source's condition",
        "the 8 bits of a byte": "unit",
        "on 100 questions": "size of the data",
        "8 and 64": "ranks, over the end of a line",
        "is 0 where they differ": "definition",
        "not 90,": "right angle",
        "a stress of .53": "of the picture alone",
        "At layers\n1 to 6": "which layers",
        "The 90th percentile of its singular values": "definition",
        "times the 10th,": "definition",
        "of its 3,000 batches": "of the published code",
        "a learning rate of 1e-6": "of the published code",
        "the mean\n1.": "definition",
        "of 300 sentences": "size of the data",
        "a largest cosine of .52 and .57 on\naverage, .09 across runs": "of the adapters' files",
    },
    "docs/rivals.md": {
        "of 3,000 batches": "of the published code",
        "or 1 and 2, cannot be told apart": "which layers",
        "2 to 6 reverted together": "which layers",
        "layers above 1 the base's": "which layers",
        "bring to 0": "by construction",
    },
    "README.md": {
        "Python 3.11": "version",
        "at most 1.5 GB": "the load test's limit",
        "| 38,129 | 1,250 MB | at most 1.1 s in every kind | 3.3 s in every kind | 7.2 s": "load",
        "| 27,463": "tests/load/README.md",
        "256 files, little other work | 1,490 MB | at most 2.6 s in every kind | 5.8 s": "load",
        "9.7 s": "load",
        "| 14,790, the image's command for 25 minutes": "load",
        "| 1,104 MB | at most 1.6 s in every kind | 3.7 s in every kind | 7.5 s": "load",
        "| 22,403": "load",
        "1,096 MB | at most 3.9 s in every kind | 8.4 s": "load",
        "14.9 s | 47": "load",
    },
}


def typed_numbers(markdown: str, allowed: Mapping[str, str], *, rows: bool = False) -> list[str]:
    """The lines of a page with a number that nothing fills in, without what is allowed.

    Args:
        markdown: The page.
        allowed: Phrases that may have one, each with the reason.
        rows: Whether the first cell of a table's row names it.
    """
    text = numbers.FIGURE.sub("", numbers.BLOCK.sub("", markdown))
    for phrase in allowed:
        text = text.replace(phrase, "")
    for pattern in (*NO_TEXT, *((FIRST_CELLS,) if rows else ()), *NO_RESULT):
        text = re.sub(pattern, "", text, flags=re.MULTILINE | re.DOTALL * ("```" in pattern))
    text = re.sub(r"^\d+\. ", "", text, flags=re.MULTILINE)  # of a list
    return [line for line in text.splitlines() if re.search(r"(?<![A-Za-z])\d", line)]


@pytest.mark.parametrize("page", ALLOWED)
def test_no_result_is_typed(page: str) -> None:
    """Mark it, so that `python -m docs.make.numbers` fills it in."""
    text = (ROOT / page).read_text(encoding="utf8")
    assert typed_numbers(text, ALLOWED[page], rows="findings" in page) == []


@pytest.mark.parametrize("page", ALLOWED)
def test_what_is_allowed_stands_there(page: str) -> None:
    text = numbers.FIGURE.sub("", (ROOT / page).read_text(encoding="utf8"))
    assert [phrase for phrase in ALLOWED[page] if phrase not in text] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "UUAS is 57.0 [54.6, 59.1] at layer 2.",
        "It loses .013 at most.",
        "In 38 models, p < .001.",
        "| parse | 3 of 4 |",
        "seven of the 12 layers",
    ],
)
def test_a_typed_result_is_found(sentence: str) -> None:
    assert typed_numbers(f"# Title\n\n{sentence}\n", {}, rows=True)


@pytest.mark.parametrize(
    "sentence",
    [
        "UUAS is 57.0 [54.6, 59.1]<!--uuas 2--> at layers 2, 5 and 6.",
        "Zhu et al. 2025 compare `seed-0 --words 9` with parse-0 (arXiv 2510.19796).",
        "Brackets are 95 %\nintervals of F1.",
    ],
)
def test_what_is_filled_in_or_no_result_is_not(sentence: str) -> None:
    assert typed_numbers(sentence, {}) == []
