"""Text in, windows out; a missing file and an unknown data set are one sentence."""

from __future__ import annotations

import gzip
from pathlib import Path

import datasets
import numpy as np
import pytest

from core.errors import RecipeError
from tests.zoo.made_up import SENTENCES
from zoo.recipe.text import CLS, SEP, encode_windows, read_paragraphs, split_held_out, text_digest
from zoo.recipe.tokenizer import train_tokenizer


def test_paragraphs_of_plain_and_compressed_files(tmp_path: Path) -> None:
    text = "\n\n".join(SENTENCES) + "\n"
    (tmp_path / "a.txt").write_text(text)
    with gzip.open(tmp_path / "a.txt.gz", "wt") as handle:
        handle.write(text)
    assert (
        read_paragraphs(str(tmp_path / "a.txt"))
        == read_paragraphs(str(tmp_path / "a.txt.gz"))
        == SENTENCES
    )
    assert len(read_paragraphs(str(tmp_path / "a.txt"), limit=45)) == 45


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No text file"), (b"\xff\xfe\x00bad", "UTF-8"), (b"one line\n", "at least")],
)
def test_bad_texts_are_one_sentence(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecipeError, match=said):
        read_paragraphs(str(path))


def test_a_broken_archive_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.txt.gz").write_bytes(b"not gzip")
    with pytest.raises(RecipeError, match="could not be read"):
        read_paragraphs(str(tmp_path / "text.txt.gz"))


def test_one_source_and_only_one() -> None:
    for arguments in ({}, {"text": "a", "dataset": "b"}):
        with pytest.raises(RecipeError, match="either --text FILE or --dataset NAME"):
            read_paragraphs(**arguments)


def test_a_data_set_is_read_by_its_text_column(monkeypatch) -> None:
    rows = datasets.Dataset.from_list([{"text": sentence} for sentence in SENTENCES])
    monkeypatch.setattr(datasets, "load_dataset", lambda *names, **options: rows)
    assert read_paragraphs(dataset="some/text:plain") == SENTENCES
    monkeypatch.setattr(
        datasets, "load_dataset", lambda *names, **options: rows.rename_column("text", "prose")
    )
    with pytest.raises(RecipeError, match="no column called text"):
        read_paragraphs(dataset="some/text")


@pytest.mark.parametrize(
    "error", [datasets.exceptions.DatasetNotFoundError("unknown"), ConnectionError("offline")]
)
def test_an_unknown_data_set_is_one_sentence(monkeypatch, error: Exception) -> None:
    def fail(*names: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(RecipeError, match="The data set no/such could not be read"):
        read_paragraphs(dataset="no/such")


def test_the_split_keeps_every_paragraph_once() -> None:
    paragraphs = [str(number) for number in range(2500)]
    training, held_out = split_held_out(paragraphs)
    assert sorted([*training, *held_out], key=int) == paragraphs
    assert 0.01 < len(held_out) / len(paragraphs) < 0.03
    assert split_held_out(paragraphs[:60])[1]  # a short text holds something out too


def test_windows_are_the_text_in_order() -> None:
    tokenizer = train_tokenizer(SENTENCES, 200)
    windows = encode_windows(tokenizer, SENTENCES, 16)
    assert windows.shape[1] == 16
    assert (windows[:, 0] == CLS).all()
    assert (windows[:, -1] == SEP).all()
    flat = [
        token
        for sentence in SENTENCES
        for token in [*tokenizer.encode(sentence, add_special_tokens=False).ids, SEP]
    ]
    assert np.array_equal(windows[:, 1:-1].ravel(), flat[: windows[:, 1:-1].size])
    with pytest.raises(RecipeError, match="fewer than one window"):
        encode_windows(tokenizer, SENTENCES[:1], 512)


def test_the_digest_is_of_the_content() -> None:
    assert text_digest(SENTENCES) == text_digest(list(SENTENCES))
    assert text_digest(SENTENCES) != text_digest(SENTENCES[::-1])
