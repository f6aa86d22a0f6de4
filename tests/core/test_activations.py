"""Vectors of words: held against one sentence at a time in plain transformers code, for every architecture."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from core import activations, forward, residence
from core.activations import extract, fitting, in_common
from core.checkpoints import ARCHITECTURES
from core.errors import CancelledError, ModelError, ShapeError
from core.models import load_model
from core.store import default_store
from tests.core.tiny_models import BYTE_LEVEL, D_MODEL, LAYERS, SENTENCES, TYPES, save_tiny, tiny_tokenizer

LONG = ("dog",) * 80  # more than the tiny models' 64 positions


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A `path:` reference of a tiny random model for each architecture."""
    folder = tmp_path_factory.mktemp("tiny")
    return {name: f"path:{save_tiny(folder / name, name)}" for name in TYPES}


@pytest.fixture
def forwards(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the sentences that are run: one number a batch."""
    counts: list[int] = []
    true = forward._read_batch

    def counting(loaded, batch, side):
        counts.append(len(batch))
        return true(loaded, batch, side)

    monkeypatch.setattr(forward, "_read_batch", counting)
    return counts


def plain_loop(ref: str, sentences, side: str = "encoder") -> list[np.ndarray]:
    """float32 (layer, word, d_model) a sentence: no batches, no padding, no tricks."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = ref.removeprefix("path:")
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    space = " " if model.config.model_type in BYTE_LEVEL else ""
    vectors = []
    for words in sentences:
        inputs = tokenizer([space + word for word in words], is_split_into_words=True, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        owners = inputs.word_ids()
        with torch.no_grad():
            if side == "decoder":
                start = torch.tensor([[model.config.decoder_start_token_id]])
                said = torch.cat([start, inputs["input_ids"]], 1)
                states = model(**inputs, decoder_input_ids=said, output_hidden_states=True).decoder_hidden_states
                owners = [None, *owners]
            elif model.config.is_encoder_decoder:
                states = model.get_encoder()(**inputs, output_hidden_states=True).hidden_states
            else:
                states = model(**inputs, output_hidden_states=True).hidden_states
        layers = []
        for state in states:
            rows = []
            for word in range(len(words)):
                mine = [place for place, owner in enumerate(owners) if owner == word]
                rows.append(np.mean([state[0, place].numpy() for place in mine], axis=0))
            layers.append(rows)
        vectors.append(np.array(layers, dtype=np.float32))
    return vectors


def test_every_architecture_that_we_claim_is_tested() -> None:
    assert set(TYPES) == set(ARCHITECTURES)


@pytest.mark.parametrize("model_type", TYPES)
def test_word_vectors_equal_one_sentence_at_a_time(tiny, model_type) -> None:
    ref = tiny[model_type]
    expected = plain_loop(ref, SENTENCES)
    loaded = load_model(ref, device="cpu")
    cut = forward.cut_sentences(loaded.tokenizer, SENTENCES)
    for batch in forward.read_sentences(loaded, cut):
        for index, vectors in batch:  # before storing: to float32 rounding
            np.testing.assert_allclose(vectors.words, expected[index], atol=2e-5)
            np.testing.assert_allclose(vectors.mean, expected[index].mean(1), atol=2e-5)
    result = extract(ref, SENTENCES)
    assert result.vectors.dtype == np.float32
    assert result.vectors.shape == (LAYERS + 1, sum(map(len, SENTENCES)), D_MODEL)
    np.testing.assert_allclose(result.vectors, np.concatenate(expected, 1), atol=2e-3, rtol=1e-3)
    assert result.word.tolist() == [word for words in SENTENCES for word in range(len(words))]
    assert result.sentence.tolist() == [index for index, words in enumerate(SENTENCES) for _ in words]
    assert result.notices == ()


@pytest.mark.parametrize("model_type", ["t5", "mt5", "bart"])
def test_decoder_side_reads_the_sentence_after_its_start_token(tiny, model_type) -> None:
    result = extract(tiny[model_type], SENTENCES, side="decoder")
    expected = np.concatenate(plain_loop(tiny[model_type], SENTENCES, "decoder"), 1)
    assert len(result.vectors) == 3  # two blocks and the embeddings
    np.testing.assert_allclose(result.vectors, expected, atol=2e-3, rtol=1e-3)


def test_there_are_words_of_several_subwords_in_the_tests(tiny) -> None:
    for model_type in TYPES:
        cut = forward.cut_sentences(load_model(tiny[model_type]).tokenizer, SENTENCES)
        assert max(np.bincount([word for word in one.words if word >= 0]).max() for one in cut) > 1


def test_order_and_company_of_sentences_do_not_matter(tiny, tmp_path, monkeypatch) -> None:
    """Padding and batches change nothing but the last bit of a float16."""
    straight = extract(tiny["bert"], SENTENCES)
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "another"))
    backwards = extract(tiny["bert"], SENTENCES[::-1])
    alone = [extract(tiny["bert"], [words]) for words in SENTENCES]
    mirrored = [
        backwards.vectors[:, backwards.sentence == len(SENTENCES) - 1 - index] for index in range(len(SENTENCES))
    ]
    np.testing.assert_allclose(np.concatenate(mirrored, 1), straight.vectors, atol=2e-3)
    np.testing.assert_allclose(np.concatenate([one.vectors for one in alone], 1), straight.vectors, atol=2e-3)


@pytest.mark.parametrize("budget", [1, 10, 10_000])
def test_vectors_do_not_depend_on_the_batches(tiny, monkeypatch, budget) -> None:
    loaded = load_model(tiny["roberta"], device="cpu")
    cut = forward.cut_sentences(loaded.tokenizer, SENTENCES)
    usual = dict(pair for batch in forward.read_sentences(loaded, cut) for pair in batch)
    monkeypatch.setattr(forward, "token_budget", lambda device, d_model: budget)
    other = dict(pair for batch in forward.read_sentences(loaded, cut) for pair in batch)
    for index, vectors in usual.items():
        np.testing.assert_allclose(other[index].words, vectors.words, atol=2e-5)


def test_batches_are_sorted_and_within_budget() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 200).tolist()
    batches = forward.plan_batches(lengths, 256)
    assert sorted(index for batch in batches for index in batch) == list(range(200))
    assert all(max(lengths[index] for index in batch) * len(batch) <= 256 for batch in batches)
    flat = [lengths[index] for batch in batches for index in batch]
    assert flat == sorted(lengths, reverse=True)
    assert forward.plan_batches([900, 3], 256) == [[0], [1]]  # longer than the budget: alone
    assert forward.plan_batches([], 256) == []
    assert forward.token_budget("cpu", 768) == 256
    assert forward.token_budget("cuda", 768) > forward.token_budget("cpu", 32) > 256


@pytest.mark.parametrize("items", ["words", "cls", "mean"])
def test_cold_equals_warm_bit_for_bit(tiny, forwards, items) -> None:
    cold = extract(tiny["bert"], [*SENTENCES, LONG], items=items)
    ran = sum(forwards)
    warm = extract(tiny["bert"], [*SENTENCES, LONG], items=items)
    assert ran == sum(forwards) == len(SENTENCES)
    assert cold.vectors.tobytes() == warm.vectors.tobytes()
    assert (cold.word.tolist(), cold.sentence.tolist()) == (warm.word.tolist(), warm.sentence.tolist())
    assert cold.notices == warm.notices


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


def test_other_weights_number_formats_and_sides_are_other_vectors(tiny, tmp_path, forwards) -> None:
    extract(tiny["bart"], SENTENCES)
    extract(tiny["bart"], SENTENCES, dtype="bfloat16")
    extract(tiny["bart"], SENTENCES, side="decoder")
    extract(f"path:{save_tiny(tmp_path / 'other', 'bart', seed=1)}", SENTENCES)
    extract(f"random:{tiny['bart']}", SENTENCES)
    assert sum(forwards) == 5 * len(SENTENCES)
    extract(f"path:{save_tiny(tmp_path / 'renamed', 'bart', seed=1)}", SENTENCES)  # the same content, another folder
    assert sum(forwards) == 5 * len(SENTENCES)


def test_bfloat16_is_near(tiny) -> None:
    exact, near = (extract(tiny["bert"], SENTENCES, dtype=dtype).vectors for dtype in ("float32", "bfloat16"))
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
    inputs = loaded.tokenizer(list(SENTENCES[2]), is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = loaded.model(input_ids=inputs["input_ids"], output_hidden_states=True).hidden_states
    first = np.stack([state[0, 0].numpy() for state in states])
    cls = extract(tiny["bert"], SENTENCES, items="cls")
    np.testing.assert_allclose(cls.vectors[:, 2], first, atol=2e-3)
    words, mean = extract(tiny["bert"], SENTENCES), extract(tiny["bert"], SENTENCES, items="mean")
    for index in range(len(SENTENCES)):
        own = words.vectors[:, words.sentence == index].mean(1)
        np.testing.assert_allclose(mean.vectors[:, index], own, atol=2e-3)
    assert mean.word.tolist() == [-1] * len(SENTENCES)
    assert cls.sentence.tolist() == list(range(len(SENTENCES)))


@pytest.mark.parametrize(
    ("model_type", "side"), [("gpt2", "encoder"), ("llama", "encoder"), ("t5", "encoder"), ("bart", "decoder")]
)
def test_cls_is_refused_where_there_is_none(tiny, model_type, side) -> None:
    with pytest.raises(ModelError, match=r"no \[CLS\] token \(\w+\): choose words or sentence means"):
        extract(tiny[model_type], SENTENCES, items="cls", side=side)


def test_cls_is_refused_where_the_tokenizer_puts_none(tmp_path) -> None:
    """The same weights as another test's, with another tokenizer: the one in memory is not mistaken for it."""
    folder = save_tiny(tmp_path / "bert", vocab_size=340)
    extract(f"path:{folder}", [("the", "dog")], items="cls")
    tiny_tokenizer("gpt2").save_pretrained(folder)
    with pytest.raises(ModelError, match=r"no \[CLS\]"):
        extract(f"path:{folder}", [("the", "dog")], items="cls")
    with pytest.raises(ModelError, match=r"no \[CLS\]"):  # and again from the store
        extract(f"path:{folder}", [("the", "dog")], items="cls")


def test_too_long_a_sentence_is_left_out_with_a_notice(tiny) -> None:
    given = [SENTENCES[0], LONG, SENTENCES[1]]
    for items, count in (("words", 8), ("mean", 2), ("cls", 2)):
        result = extract(tiny["bert"], given, items=items)
        assert set(result.sentence.tolist()) == {0, 2}
        assert result.vectors.shape[1] == count
        assert len(result.notices) == 1
        assert "1 of 3 sentences are longer" in result.notices[0]
        assert "(64 subwords)" in result.notices[0]
        assert "dog dog" in result.notices[0]
    assert extract(tiny["t5"], given).vectors.shape[1] == 88  # relative positions: 80 words are not too long
    assert fitting(tiny["bert"], [*given, ()]).tolist() == [True, False, True, False]
    assert fitting(tiny["bert"], [*given, ()]).tolist() == [True, False, True, False]  # from the store
    assert fitting(tiny["t5"], given).all()


def test_roberta_reads_as_many_as_it_has_positions_for(tiny) -> None:
    """62 of 64: it counts positions from after the padding index."""
    at_most = ("a",) * 60  # and two special tokens
    assert not extract(tiny["roberta"], [at_most]).notices
    assert extract(tiny["roberta"], [(*at_most, "a")]).notices


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "t5"])
def test_words_of_which_nothing_is_left(tiny, model_type) -> None:
    """A zero-width space, a control character, nothing at all: no vector, a notice, and the others stay."""
    odd = ("the", "\u200b", "", "dog", "👩‍👩‍👧‍👦", "naïve", "日本語", "\x00", "ﬁ")
    result = extract(tiny[model_type], [odd, ("",), ("dog",)])
    kept = result.word[result.sentence == 0].tolist()
    assert set(kept) >= {0, 3, 4, 5, 6, 8}
    assert 2 not in kept
    assert 1 not in result.sentence
    assert np.isfinite(result.vectors).all()
    assert "words were left out, because the tokenizer" in result.notices[0]
    mean = extract(tiny[model_type], [odd, ("",), ("dog",)], items="mean")
    assert mean.sentence.tolist() == [0, 2]
    assert mean.notices[0].startswith("1 sentences were left out")
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
    assert extract(tiny["t5"], [], side="decoder").vectors.shape == (3, 0, D_MODEL)
    assert fitting(tiny["bert"], []).shape == (0,)
    assert forwards == []


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"items": "tokens"}, "items must be one of words, cls, mean"),
        ({"keep": [[0]]}, "keep lists words for each of 6 sentences"),
        ({"keep": [[0]] * 6, "items": "mean"}, "keep lists words"),
        ({"keep": [[5], [], [], [], [], []]}, "outside of sentence 0, which has 5"),
        ({"keep": [[-1], [], [], [], [], []]}, "outside of sentence 0"),
        ({"layers": [4]}, r"layers run from 0 \(embeddings\) to 3"),
        ({"layers": [-5]}, "layers run from 0"),
    ],
)
def test_requests_that_do_not_fit_are_refused(tiny, wrong, sentence) -> None:
    with pytest.raises(ShapeError, match=sentence):
        extract(tiny["bert"], SENTENCES, **wrong)


def test_other_refusals(tiny) -> None:
    with pytest.raises(ModelError, match="side must be encoder or decoder"):
        extract(tiny["t5"], SENTENCES, side="both")
    with pytest.raises(ModelError, match="dtype must be one of"):
        extract(tiny["bert"], SENTENCES, dtype="int8")


def test_numbers_too_large_for_half_precision_are_kept_whole(tiny, monkeypatch) -> None:
    true = forward._read_batch

    def huge(loaded, batch, side):
        found = true(loaded, batch, side)
        found[0].words[1, 0, 0] = 123_456.0
        return found

    monkeypatch.setattr(forward, "_read_batch", huge)
    cold = extract(tiny["bert"], [("dog",)])
    assert cold.vectors[1, 0, 0] == 123_456.0
    assert extract(tiny["bert"], [("dog",)]).vectors.tobytes() == cold.vectors.tobytes()


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
    monkeypatch.setattr(activations, "CHUNK", 2)
    ticks = iter(range(3))

    def cancel_at_the_third(fraction: float, note: str = "") -> None:
        if next(ticks) == 2:
            raise CancelledError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(activations, "tick", cancel_at_the_third)
        with pytest.raises(CancelledError):
            extract(tiny["bert"], SENTENCES)
    assert sum(forwards) == 6
    extract(tiny["bert"], SENTENCES)
    assert sum(forwards) == 8  # only the chunk that was cut off


def test_one_model_at_a_time_is_in_memory(tiny) -> None:
    with residence.borrow_model(tiny["bert"]) as first, residence.borrow_model(tiny["bert"]) as again:
        assert again is first
    extract(tiny["gpt2"], SENTENCES)
    assert [loaded.info.model_type for loaded in residence._resident.values()] == ["gpt2"]
    residence.release_model()
    assert not residence._resident


def test_a_small_model_stays_a_moment_and_a_large_one_does_not(tiny, monkeypatch) -> None:
    monkeypatch.setattr(residence, "KEEP_SECONDS", 0.05)
    with residence.borrow_model(tiny["bert"]):
        pass
    assert residence._resident
    threading.Event().wait(0.5)
    assert not residence._resident
    monkeypatch.setattr(residence, "KEEP_PARAMETERS", 10)
    with residence.borrow_model(tiny["bert"]):
        assert residence._resident
    assert not residence._resident


def test_who_waits_for_the_model_can_be_cancelled(tiny, monkeypatch) -> None:
    def cancelled(fraction: float, note: str = "") -> None:
        raise CancelledError(note)

    monkeypatch.setattr(residence, "tick", cancelled)
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            extract(tiny["bert"], SENTENCES)
        except CancelledError as error:
            caught.append(error)

    with residence.borrow_model(tiny["gpt2"]):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(30)
    assert "waiting for another model" in str(caught[0])


def test_in_common_keeps_what_all_have(tiny) -> None:
    given = [("the", "", "dog"), LONG, ("a", "quiet", "room")]
    one, other = extract(tiny["bert"], given), extract(tiny["t5"], given)
    first, second = in_common([one, other])
    assert first.vectors.shape == second.vectors.shape
    assert list(zip(first.sentence, first.word, strict=True)) == list(zip(second.sentence, second.word, strict=True))
    assert 1 not in first.sentence
    assert first.notices == one.notices
    assert in_common([]) == []


def test_warm_runs_import_neither_torch_nor_transformers(tiny) -> None:
    code = (
        "import sys; from core.activations import extract, fitting\n"
        f"given = {list(SENTENCES)!r}\n"
        f"extract({tiny['bert']!r}, given); extract({tiny['bert']!r}, given, items='cls')\n"
        f"fitting({tiny['bert']!r}, given)\n"
        "print('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    cold, warm = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True
        ).stdout.strip()
        for _ in range(2)
    )
    assert (cold, warm) == ("True", "False")
