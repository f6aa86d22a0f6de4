"""Terms in a headline are found, each once and never inside a name, and explained in two
sentences."""

from __future__ import annotations

import re

import pytest

from core.errors import PalimpsestError
from core.results.words import MEANINGS, _pattern, explained


@pytest.mark.parametrize("term", MEANINGS)
def test_every_meaning_is_two_sentences(term: str) -> None:
    assert len(re.findall(r"\.(?=\s|$)", MEANINGS[term])) == 2


@pytest.mark.parametrize("term", MEANINGS)
def test_no_meaning_has_markup_which_a_tooltip_shows_as_it_is(term: str) -> None:
    assert not re.search(r"[*`_]", MEANINGS[term])


def test_nothing_of_the_text_is_lost() -> None:
    text = "nli-0 (RSA .29 [.27, .31]); by kernel ridge, not by ridge; RSA again."
    assert "".join(piece for piece, _ in explained(text)) == text


def test_a_term_is_explained_once_and_the_longer_one_wins() -> None:
    found = [
        piece
        for piece, meaning in explained("kernel ridge beats RSA, and RSA debiased CKA")
        if meaning
    ]
    assert found == ["kernel ridge", "RSA", "debiased CKA"]


def test_no_term_is_found_inside_a_name() -> None:
    assert not any(meaning for _, meaning in explained("my-ridge, RSA-model and norms_2"))


def test_a_term_that_is_no_pattern_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEANINGS, "mean (CCA", "A term. In two sentences.")
    _pattern.cache_clear()
    with pytest.raises(
        PalimpsestError, match=r"glossary.toml: the term 'mean \(CCA' is no pattern"
    ):
        list(explained("mean CCA"))
    monkeypatch.undo()
    assert list(explained("nothing")) == [("nothing", "")]
