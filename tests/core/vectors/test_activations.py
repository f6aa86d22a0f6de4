"""Vectors from the store: the same cold and warm, nothing run twice, nothing left out in
silence."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from core.errors import CancelledError, ModelError, ShapeError
from core.models import load_model
from core.runs.store import default_store
from core.vectors import forward, stored
from core.vectors.activations import extract, fitting
from core.vectors.notices import blank_items, too_long
from core.vectors.pairs import in_common
from tests import ROOT
from tests.core.tiny_models import (
    D_MODEL,
    LAYERS,
    SENTENCES,
    plain_tokenizer,
    save_tiny,
    tiny_tokenizer,
)

LONG = ("dog",) * 80  # more than the tiny models' 64 positions


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`path:` references of tiny random models."""
    folder = tmp_path_factory.mktemp("tiny")
    return {
        name: f"path:{save_tiny(folder / name, name)}"
        for name in ("bert", "roberta", "gpt2", "llama", "t5", "bart")
    }


@pytest.fixture
def forwards(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the sentences that are run: one number a batch."""
    counts: list[int] = []
    true = forward._read_batch

    def counting(loaded, batch, *more):
        counts.append(len(batch))
        return true(loaded, batch, *more)

    monkeypatch.setattr(forward, "_read_batch", counting)
    return counts


def test_order_and_company_of_sentences_do_not_matter(tiny, tmp_path, monkeypatch) -> None:
    """Padding and batches change nothing but the last bit of a float16."""
    straight = extract(tiny["bert"], SENTENCES)
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "another"))
    backwards = extract(tiny["bert"], SENTENCES[::-1])
    alone = [extract(tiny["bert"], [words]) for words in SENTENCES]
    mirrored = [
        backwards.vectors[:, backwards.sentence == len(SENTENCES) - 1 - index]
        for index in range(len(SENTENCES))
    ]
    np.testing.assert_allclose(np.concatenate(mirrored, 1), straight.vectors, atol=2e-3)
    np.testing.assert_allclose(
        np.concatenate([one.vectors for one in alone], 1), straight.vectors, atol=2e-3
    )


@pytest.mark.parametrize("items", ["words", "cls", "mean"])
def test_cold_equals_warm_bit_for_bit(tiny, forwards, items) -> None:
    cold = extract(tiny["bert"], [*SENTENCES, LONG], items=items)
    ran = sum(forwards)
    warm = extract(tiny["bert"], [*SENTENCES, LONG], items=items)
    assert ran == sum(forwards) == len(SENTENCES)
    assert cold.vectors.tobytes() == warm.vectors.tobytes()
    assert (cold.word.tolist(), cold.sentence.tolist()) == (
        warm.word.tolist(),
        warm.sentence.tolist(),
    )
    assert cold.notices == warm.notices


@pytest.mark.slow
def test_only_new_sentences_are_run(tiny, forwards) -> None:
    extract(tiny["bert"], SENTENCES[:4])
    assert sum(forwards) == 4
    extract(tiny["bert"], SENTENCES)
    assert sum(forwards) == len(SENTENCES)
    extract(tiny["bert"], SENTENCES, items="mean")  # from the same forward passes
    extract(tiny["bert"], SENTENCES, items="cls", layers=[0, -1])
    extract(tiny["bert"], SENTENCES[::-1] * 2)
    assert sum(forwards) == len(SENTENCES)
    extract(tiny["bert"], [*SENTENCES, ("dog", "dog"), ("dog", "dog")])  # twice the same: once
    assert sum(forwards) == len(SENTENCES) + 1


@pytest.mark.slow
def test_other_weights_and_number_formats_are_other_vectors(tiny, tmp_path, forwards) -> None:
    extract(tiny["bart"], SENTENCES)
    extract(tiny["bart"], SENTENCES, dtype="bfloat16")
    extract(f"path:{save_tiny(tmp_path / 'other', 'bart', seed=1)}", SENTENCES)
    extract(f"random:{tiny['bart']}", SENTENCES)
    assert sum(forwards) == 4 * len(SENTENCES)
    extract(
        f"path:{save_tiny(tmp_path / 'renamed', 'bart', seed=1)}", SENTENCES
    )  # the same content, another folder
    assert sum(forwards) == 4 * len(SENTENCES)


def test_bfloat16_is_near(tiny) -> None:
    exact, near = (
        extract(tiny["bert"], SENTENCES, dtype=dtype).vectors for dtype in ("float32", "bfloat16")
    )
    assert not np.array_equal(exact, near)
    np.testing.assert_allclose(near, exact, atol=0.1)


def test_keep_and_layers_choose(tiny) -> None:
    everything = extract(tiny["gpt2"], SENTENCES)
    keep = [[len(words) - 1, 0] if len(words) > 2 else [] for words in SENTENCES]
    some = extract(tiny["gpt2"], SENTENCES, keep=keep, layers=[-1, 0])
    for place, (sentence, word) in enumerate(zip(some.sentence, some.word, strict=True)):
        at = np.flatnonzero((everything.sentence == sentence) & (everything.word == word))[0]
        assert np.array_equal(some.vectors[:, place], everything.vectors[[LAYERS, 0], at])
    assert some.word.tolist() == [word for words in keep for word in words]


def test_cls_and_mean_are_one_a_sentence(tiny) -> None:
    import torch

    loaded = load_model(tiny["bert"], device="cpu")
    inputs = plain_tokenizer(tiny["bert"])(
        list(SENTENCES[2]), is_split_into_words=True, return_tensors="pt"
    )
    with torch.no_grad():
        states = loaded.model(
            input_ids=inputs["input_ids"], output_hidden_states=True
        ).hidden_states
    first = np.stack([state[0, 0].numpy() for state in states])
    cls = extract(tiny["bert"], SENTENCES, items="cls")
    np.testing.assert_allclose(cls.vectors[:, 2], first, atol=2e-3)
    words, mean = extract(tiny["bert"], SENTENCES), extract(tiny["bert"], SENTENCES, items="mean")
    for index in range(len(SENTENCES)):
        own = words.vectors[:, words.sentence == index].mean(1)
        np.testing.assert_allclose(mean.vectors[:, index], own, atol=2e-3)
    assert mean.word.tolist() == [-1] * len(SENTENCES)
    assert cls.sentence.tolist() == list(range(len(SENTENCES)))


@pytest.mark.parametrize("model_type", ["gpt2", "llama", "t5"])
def test_cls_is_refused_where_there_is_none(tiny, model_type) -> None:
    with pytest.raises(ModelError, match=r"\[CLS\]"):
        extract(tiny[model_type], SENTENCES, items="cls")


def test_cls_is_refused_where_the_tokenizer_puts_none(tmp_path) -> None:
    """The same weights as another test's, with another tokenizer: the one in memory is not mistaken
    for it."""
    folder = save_tiny(tmp_path / "bert", vocab_size=340)
    extract(f"path:{folder}", [("the", "dog")], items="cls")
    tiny_tokenizer("gpt2").save_pretrained(folder)
    with pytest.raises(ModelError, match=r"\[CLS\]"):
        extract(f"path:{folder}", [("the", "dog")], items="cls")
    with pytest.raises(ModelError, match=r"\[CLS\]"):  # and again from the store
        extract(f"path:{folder}", [("the", "dog")], items="cls")


def test_too_long_a_sentence_is_left_out_with_a_notice(tiny) -> None:
    given = [SENTENCES[0], LONG, SENTENCES[1]]
    for items, count in (("words", 8), ("mean", 2), ("cls", 2)):
        result = extract(tiny["bert"], given, items=items)
        assert set(result.sentence.tolist()) == {0, 2}
        assert result.vectors.shape[1] == count
        assert result.notices == (too_long(tiny["bert"], given, [1], 64),)
    assert (
        extract(tiny["t5"], given).vectors.shape[1] == 88
    )  # relative positions: 80 words are not too long
    assert fitting(tiny["bert"], [*given, ()]).tolist() == [True, False, True, False]
    assert fitting(tiny["bert"], [*given, ()]).tolist() == [
        True,
        False,
        True,
        False,
    ]  # from the store
    assert fitting(tiny["t5"], given).all()


def test_roberta_reads_as_many_as_it_has_positions_for(tiny) -> None:
    """62 of 64: it counts positions from after the padding index."""
    at_most = ("a",) * 60  # and two special tokens
    assert not extract(tiny["roberta"], [at_most]).notices
    assert extract(tiny["roberta"], [(*at_most, "a")]).notices


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "t5"])
def test_words_of_which_nothing_is_left(tiny, model_type) -> None:
    """A zero-width space, a control character, nothing at all: no vector, a notice, and the others
    stay."""
    odd = ("the", "\u200b", "", "dog", "👩‍👩‍👧‍👦", "naïve", "日本語", "\x00", "ﬁ")
    result = extract(tiny[model_type], [odd, ("",), ("dog",)])
    kept = result.word[result.sentence == 0].tolist()
    assert set(kept) >= {0, 3, 4, 5, 6, 8}
    assert 2 not in kept
    assert 1 not in result.sentence
    assert np.isfinite(result.vectors).all()
    lost = len(odd) + 2 - len(result.word)
    assert blank_items(tiny[model_type], lost, "word") in result.notices
    mean = extract(tiny[model_type], [odd, ("",), ("dog",)], items="mean")
    assert mean.sentence.tolist() == [0, 2]
    assert blank_items(tiny[model_type], 1, "sentence") in mean.notices
    own = result.vectors[:, result.sentence == 0].mean(1)
    np.testing.assert_allclose(mean.vectors[:, 0], own, atol=2e-3)
    assert fitting(tiny[model_type], [odd, ("",)]).tolist() == [True, False]


def test_no_sentences(tiny, forwards) -> None:
    for given in ([], [()], [(), ()]):
        for items in ("words", "mean", "cls"):
            result = extract(tiny["bert"], given, items=items)
            assert result.vectors.shape == (LAYERS + 1, 0, D_MODEL)
            assert len(result.word) == len(result.sentence) == 0
            assert result.notices == ()
    assert fitting(tiny["bert"], []).shape == (0,)
    assert forwards == []


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"items": "tokens"}, "words, cls, mean.*tokens"),
        ({"keep": [[0]]}, "keep .* 6 .* 1 "),
        ({"keep": [[0]] * 6, "items": "cls"}, "keep .* 6 .*cls"),
        ({"keep": [[5], [], [], [], [], []]}, "keep .* 0.* 5 "),
        ({"keep": [[-1], [], [], [], [], []]}, "keep .* 0"),
        ({"layers": [4]}, r"layers .* 0 .* 3 .*\[4\]"),
        ({"layers": [-5]}, r"layers .* 0 .* 3 .*\[-5\]"),
    ],
)
def test_requests_that_do_not_fit_are_refused(tiny, wrong, sentence) -> None:
    with pytest.raises(ShapeError, match=sentence):
        extract(tiny["bert"], SENTENCES, **wrong)


def test_other_refusals(tiny) -> None:
    with pytest.raises(ModelError, match="dtype must be one of"):
        extract(tiny["bert"], SENTENCES, dtype="int8")


def test_numbers_too_large_for_half_precision_are_kept_whole(tiny, monkeypatch) -> None:
    true = forward._read_batch

    def huge(loaded, batch, *more):
        found = true(loaded, batch, *more)
        found[0].words[1, 0, 0] = 123_456.0
        return found

    monkeypatch.setattr(forward, "_read_batch", huge)
    cold = extract(tiny["bert"], [("dog",)])
    assert cold.vectors[1, 0, 0] == 123_456.0
    assert extract(tiny["bert"], [("dog",)]).vectors.tobytes() == cold.vectors.tobytes()


def test_vectors_that_are_not_finite_are_refused(tiny, monkeypatch) -> None:
    def overflown(reading, sentences, part, place) -> None:
        place(0, {"words": np.array([0]), "vectors": np.full((4, 1, D_MODEL), np.inf, np.float32)})

    monkeypatch.setattr(
        "core.vectors.activations._select", lambda *given: (given[1]["vectors"], np.array([True]))
    )
    monkeypatch.setattr("core.vectors.activations.visit_sentences", overflown)
    with pytest.raises(ModelError, match="not finite"):
        extract(tiny["bert"], [["one"]])


def test_a_store_that_cannot_keep_anything_gives_the_same(tiny, tmp_path, monkeypatch) -> None:
    kept = extract(tiny["bert"], SENTENCES)
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "full"))
    monkeypatch.setattr(type(default_store()), "put_many", lambda self, items: False)
    assert np.array_equal(extract(tiny["bert"], SENTENCES).vectors, kept.vectors)


def test_many_who_ask_at_once_share_one_run(tiny, forwards) -> None:
    results: list[np.ndarray] = []
    ask = lambda: results.append(extract(tiny["bert"], SENTENCES).vectors)  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 6
    assert all(np.array_equal(one, results[0]) for one in results)
    assert sum(forwards) == len(SENTENCES)


def test_a_chunk_that_was_computed_before_a_failure_stays(tiny, forwards, monkeypatch) -> None:
    monkeypatch.setattr(stored, "CHUNK", 2)
    ticks = iter(range(3))

    def cancel_at_the_third(fraction: float, note: str = "") -> None:
        if next(ticks) == 2:
            raise CancelledError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(stored, "tick", cancel_at_the_third)
        with pytest.raises(CancelledError):
            extract(tiny["bert"], SENTENCES)
    assert sum(forwards) == 6
    extract(tiny["bert"], SENTENCES)
    assert sum(forwards) == 8  # only the chunk that was cut off


def test_in_common_keeps_what_all_have(tiny) -> None:
    given = [("the", "", "dog"), LONG, ("a", "quiet", "room")]
    one, other = extract(tiny["bert"], given), extract(tiny["t5"], given)
    first, second = in_common([one, other])
    assert first.vectors.shape == second.vectors.shape
    assert list(zip(first.sentence, first.word, strict=True)) == list(
        zip(second.sentence, second.word, strict=True)
    )
    assert 1 not in first.sentence
    assert first.notices == one.notices
    assert in_common([]) == []


@pytest.mark.exhaustive
@pytest.mark.slow
def test_warm_runs_import_neither_torch_nor_transformers(tiny) -> None:
    code = (
        "import sys; from core.vectors.activations import extract, fitting\n"
        f"given = {list(SENTENCES)!r}\n"
        f"extract({tiny['bert']!r}, given); extract({tiny['bert']!r}, given, items='cls')\n"
        f"fitting({tiny['bert']!r}, given)\n"
        "print('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    root = ROOT
    cold, warm = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True
        ).stdout.strip()
        for _ in range(2)
    )
    assert (cold, warm) == ("True", "False")
