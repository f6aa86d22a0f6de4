"""Examples are encoded as anyone else's tokenizer call encodes them; every example comes once an
epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.zoo.made_up import SQUAD
from zoo.recipe.batches import IGNORED, collate, encode_task, scoring_batches, training_order
from zoo.recipe.tasks import Example, TaskData, squad_task


@pytest.fixture(scope="module")
def tokenizer(tiny_base: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_base)


def encode(tokenizer: Any, kind: Any, *examples: Example, max_length: int = 64) -> Any:
    return encode_task(
        tokenizer, TaskData("x", kind, (), examples, (), "", ""), examples, max_length
    )


def test_a_pair_is_encoded_as_the_tokenizer_does(tokenizer: Any) -> None:
    (item,) = encode(tokenizer, "sequence", Example("the cat", "the dog", 1))
    assert item.ids == tokenizer("the cat", "the dog")["input_ids"]
    assert item.extra == {"labels": 1}


def test_a_word_is_labelled_at_its_first_subword(tokenizer: Any) -> None:
    (item,) = encode(tokenizer, "words", Example(words=("children", "sat"), labels=(3, 4)))
    tokens = tokenizer.convert_ids_to_tokens(item.ids)
    labelled = [
        (token, label)
        for token, label in zip(tokens, item.extra["labels"], strict=True)
        if label != IGNORED
    ]
    assert [label for _, label in labelled] == [3, 4]
    assert not any(token.startswith(("##", "[")) for token, _ in labelled)


def test_arcs_keep_heads_that_were_not_cut_off(tokenizer: Any) -> None:
    words = ("the", "cat", "sat", "on", "the", "mat")
    whole, cut = (
        encode(
            tokenizer, "arcs", Example(words=words, labels=(2, 3, 0, 6, 6, 3)), max_length=length
        )[0]
        for length in (64, 5)
    )
    assert whole.extra["heads"] == [2, 3, 0, 6, 6, 3]
    assert len(whole.extra["word_starts"]) == 6
    assert cut.extra["heads"] == [2, 3, 0]
    (cut,) = encode(
        tokenizer, "arcs", Example(words=words, labels=(6, 3, 0, 6, 6, 3)), max_length=5
    )
    assert cut.extra["heads"] == [IGNORED, 3, 0]


def test_a_span_is_found_by_its_characters(tokenizer: Any) -> None:
    task = squad_task(SQUAD, [])
    items = encode_task(tokenizer, task, task.train, 128)
    for item, row in zip(items[:2], SQUAD[:2], strict=True):
        start, end = item.extra["start_positions"], item.extra["end_positions"]
        text = str(row["context"])[item.offsets[start][0] : item.offsets[end][1]]
        assert text == row["answers"]["text"][0]  # type: ignore[index]
    assert items[2].extra == {"start_positions": 0, "end_positions": 0}
    (short,) = encode_task(tokenizer, task, task.train[:1], 16)  # the answer is cut off
    assert short.extra["start_positions"] == 0


def test_every_example_comes_once_an_epoch_in_an_order_of_its_own() -> None:
    lengths = [length % 17 + 3 for length in range(203)]
    order = training_order(lengths, 8, seed=0, epoch=0)
    assert sorted(index for batch in order for index in batch) == list(range(203))
    assert max(map(len, order)) == 8
    assert order == training_order(lengths, 8, seed=0, epoch=0)
    assert order != training_order(lengths, 8, seed=0, epoch=1)
    assert order != training_order(lengths, 8, seed=1, epoch=0)
    spread = [max(lengths[i] for i in batch) - min(lengths[i] for i in batch) for batch in order]
    assert sum(spread) / len(spread) < 3  # like lengths together


def test_padding_is_masked_and_not_labelled(tokenizer: Any) -> None:
    items = encode(
        tokenizer,
        "words",
        Example(words=("the", "cat", "sat"), labels=(0, 1, 2)),
        Example(words=("cat",), labels=(1,)),
    )
    tensors = collate(items, tokenizer.pad_token_id)
    assert tensors["attention_mask"].sum(1).tolist() == [len(item.ids) for item in items]
    assert (tensors["labels"][1, len(items[1].ids) :] == IGNORED).all()
    seen = [
        index for chosen, _ in scoring_batches(items, 1, tokenizer.pad_token_id) for index in chosen
    ]
    assert sorted(seen) == [0, 1]
