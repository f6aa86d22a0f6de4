"""The bijection check of a decoder: attention sinks are no rows, unless they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from core.results.export import Result
from core.text.corpora import Corpus, Sentence
from extras.alignment.check.spec import CheckSpec
from extras.alignment.check.study import STUDY
from tests.core.massive import make_massive, sentences
from tests.core.tiny_models import save_tiny


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A decoder in which the first word has one massive activation."""
    folder = save_tiny(tmp_path_factory.mktemp("check") / "llama", "llama")
    make_massive(folder)
    return f"path:{folder}"


def check(decoder: str, sinks: str, items: str = "words") -> Result:
    spec = CheckSpec(
        model=decoder, layer=1, truths=("bend",), methods=("ols", "ridge"), split="sentence",
        items=items, sinks=sinks,
    )  # fmt: skip
    text = tuple(Sentence(words) for words in sentences(60))
    result = STUDY.run(spec, {"demo": Corpus("demo", text)})
    assert isinstance(result, Result)
    return result


def errors(result: Result) -> np.ndarray:
    """Of ridge, by number of blocks."""
    rows = result.table[result.table["method"] == "ridge"].sort_values("blocks")
    return rows["nmse"].to_numpy()


def test_sinks_decide_the_error_where_they_are_kept(decoder: str) -> None:
    kept, left = check(decoder, "keep"), check(decoder, "auto")
    assert "sinks" not in kept.tables
    assert set(left.tables["sinks"]["model"]) == {decoder}
    words = sum(map(len, sentences(60)))
    assert any(f"60 of {words} words were left out" in notice for notice in left.notices)
    assert errors(kept)[-1] < 0.5 * errors(left)[-1]


def test_first_tokens_have_no_words_to_leave_out(decoder: str) -> None:
    assert "sinks" not in check(decoder, "drop", "cls").tables
