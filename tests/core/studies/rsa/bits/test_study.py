"""Bits per byte against the uniform model's closed form, a slow loop, and models that do not fit
together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file, save_file

from core.errors import SpecError
from core.models.loading.model import load_with_head
from core.results.columns import meaning
from core.studies.rsa.bits.report import (
    BEYOND,
    OF_BASE,
    build_tables,
    figures,
    make_headline,
    scored_text,
    statements_of,
    unscored,
)
from core.studies.rsa.bits.spec import BitsSpec
from core.studies.rsa.bits.study import STUDY
from core.text.reading import read_text
from core.vectors.forward import cut_sentences
from tests.core.tiny_models import SENTENCES, save_tiny

UNIFORM = {
    "llama": ("lm_head.weight",),
    "bert": (
        "cls.predictions.transform.LayerNorm.weight", "cls.predictions.transform.LayerNorm.bias",
        "cls.predictions.bias",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Sentences that tiny models read whole, but for one that they cut off."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    lines = [" ".join(SENTENCES[number % 3]) for number in range(24)]
    path.write_text("\n".join([*lines, " ".join(SENTENCES[2] * 9)]), encoding="utf8")
    return str(path)


def scored(corpus: str) -> list[tuple[str, ...]]:
    return [words for words in read_text(corpus, (), 40).words if len(words) < 20]


def run(*models: str, corpus: str) -> Any:
    return STUDY.run(BitsSpec(models=models, corpus=corpus, sentences=40, draws=20))


def tiny(folder: Path, kind: str, **more: Any) -> str:
    return f"path:{save_tiny(folder, kind, head=True, **more)}"


@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_a_uniform_model_has_its_closed_form(kind: str, tmp_path: Path, corpus: str) -> None:
    ref = tiny(tmp_path / kind, kind)
    path = tmp_path / kind / "model.safetensors"
    weights = load_file(path)
    for name in UNIFORM[kind]:
        weights[name] = np.zeros_like(weights[name])
    save_file(weights, path, metadata={"format": "pt"})
    result = run(ref, corpus=corpus)
    (row,) = result.tables["bits"].to_dict("records")
    assert row["bits_per_subword"] == pytest.approx(np.log2(row["vocabulary_size"]), rel=1e-5)
    assert row["bits_per_byte"] == pytest.approx(row["uniform_bits"], rel=1e-5)
    texts = [scored_text(words) for words in scored(corpus)]
    assert row["bytes_read"] == sum(len(text.encode()) for text in texts)
    total = row["bits_per_byte"] * row["bytes_read"]
    assert row["bits_per_character"] == pytest.approx(total / sum(map(len, texts)))
    assert all(each.named_in(result.headline) for each in result.statements)


def test_losses_are_those_of_a_slow_loop_without_the_first_word(
    tmp_path: Path, corpus: str
) -> None:
    ref = tiny(tmp_path / "a", "llama")
    loaded = load_with_head(ref, device="cpu")
    bits = size = 0.0
    for words in scored(corpus):
        (cut,) = cut_sentences(loaded.tokenizer, [words])
        with torch.inference_mode():
            logits = loaded.model(input_ids=torch.tensor([cut.ids])).logits[0]
        chances = torch.log_softmax(logits.double(), -1)
        for place in range(1, len(cut.ids)):
            if cut.words[place] >= 1:
                bits -= float(chances[place - 1, cut.ids[place]]) / np.log(2)
        size += len(scored_text(words).encode())
    (row,) = run(ref, corpus=corpus).tables["bits"].to_dict("records")
    assert row["bits_per_byte"] == pytest.approx(bits / size, rel=1e-5)


def test_models_with_different_vocabularies_are_scored_on_the_same_bytes(
    tmp_path: Path, corpus: str
) -> None:
    refs = [tiny(tmp_path / kind, kind) for kind in ("llama", "qwen2")]
    result = run(*refs, corpus=corpus)
    table = result.tables["bits"].set_index("model")
    assert table["bytes_read"].nunique() == 1
    (gap,) = result.tables["bit_gaps"].to_dict("records")
    first, second = table["bits_per_byte"].loc[refs]
    assert gap["bits_gap"] == pytest.approx(first - second)
    assert gap["bits_gap_low"] <= gap["bits_gap"] <= gap["bits_gap_high"]
    for name, rows in result.tables.items():
        assert all(meaning(name, column) for column in rows.columns)
    assert all(each.named_in(result.headline) for each in result.statements)
    assert "bits" in figures(result)


def test_differences_are_paired_and_cut_sentences_are_left_out_for_all() -> None:
    sentences = [("a", "bc"), ("a",), ("a", "dé"), ("a", "f", "g")]
    nats = np.log(2) * np.array([3.0, 9.0, 5.0, 4.0])
    values = {
        ref: {
            "nats": nats + np.log(2) * more, "subwords": np.array([1, 0, 1, 2]),
            "whole": np.array(whole), "vocabulary": 16,
        }
        for ref, more, whole in (
            ("one", 0.0, [True] * 4), ("two", 1.0, [True, True, True, False]),
        )
    }  # fmt: skip
    table, gaps = build_tables(values, sentences, 50, 0)
    assert table["bytes_read"].tolist() == [7, 7]  # " bc" and " dé"
    assert table["bits_per_byte"].tolist() == pytest.approx([8 / 7, 10 / 7])
    assert table["bits_per_character"].tolist() == pytest.approx([8 / 6, 10 / 6])
    assert table["uniform_bits"].tolist() == pytest.approx([4 * 2 / 7] * 2)
    (gap,) = gaps.to_dict("records")
    assert gap["bits_gap"] == pytest.approx(-2 / 7)
    assert gap["bits_gap_high"] < 0  # one bit a sentence in every resample
    assert gap["fewer_bits"] == 1


def test_a_single_sentence_has_no_interval_and_no_verdict() -> None:
    values = {
        ref: {
            "nats": np.array([nats]), "subwords": np.array([2]), "whole": np.array([True]),
            "vocabulary": 16,
        }
        for ref, nats in (("one", 3.0), ("two", 5.0))
    }  # fmt: skip
    table, gaps = build_tables(values, [("a", "bc")], 50, 0)
    assert table[["low", "high"]].isna().all(axis=None)
    (gap,) = gaps.to_dict("records")
    assert np.isnan([gap["bits_gap_low"], gap["bits_gap_high"]]).all()
    assert "not detectably" in make_headline(statements_of(table, gaps), table)


def test_a_model_with_numbers_that_are_not_finite_is_left_out(tmp_path: Path, corpus: str) -> None:
    ref = tiny(tmp_path / "llama", "llama")
    file = tmp_path / "llama" / "model.safetensors"
    weights = load_file(file)
    name = next(name for name in weights if "norm" in name)
    weights[name] = np.full_like(weights[name], np.nan)
    save_file(weights, file, metadata={"format": "pt"})
    result = run(ref, corpus=corpus)
    assert any("are not finite" in why for why in result.failures.values())


def test_masked_and_causal_models_are_not_mixed(tmp_path: Path, corpus: str) -> None:
    refs = [tiny(tmp_path / kind, kind) for kind in ("llama", "bert")]
    with pytest.raises(SpecError, match=r"predicts masked words and .* following ones"):
        run(*refs, corpus=corpus)


def test_a_model_that_predicts_no_words_is_refused_in_a_sentence(
    tmp_path: Path, corpus: str
) -> None:
    result = run(tiny(tmp_path / "t5", "t5"), corpus=corpus)
    assert any("predicts no words" in why for why in result.failures.values())
    assert result.headline == STUDY.words.nothing
    assert figures(result) == {}


def test_a_fine_tune_stands_beside_its_base_and_a_step_of_a_run_does_not() -> None:
    refs = ["zoo:decoder-0", "zoo:decoder-1", "zoo:review-0"]
    table = pd.DataFrame({"model": refs, "bits_per_byte": [1.8, 1.7, 1.9]})
    table = table.assign(low=1.6, high=2.0, uniform_bits=3.1)
    gaps = pd.DataFrame(
        [(refs[0], refs[1], 0.1, 0.05, 0.15), (refs[0], refs[2], -0.1, -0.12, -0.08),
         (refs[1], refs[2], -0.2, -0.3, -0.1)],
        columns=["model", "other", "bits_gap", "bits_gap_low", "bits_gap_high"],
    )  # fmt: skip
    made = statements_of(table, gaps)
    tuned = next(each for each in made if each.verdict == OF_BASE)
    assert (tuned.subject, tuned.baseline) == ("zoo:review-0", "zoo:decoder-0")
    assert (tuned.number.value, tuned.number.low, tuned.number.high) == (0.1, 0.08, 0.12)
    said = make_headline(made, table)
    assert said.startswith("review-0 predicts the text worse than its base, decoder-0: it needs")
    assert all(each.named_in(said) for each in made)
    assert sum(each.verdict == BEYOND for each in made) == 2
    assert "decoder-1 needs the fewest, 1.70 [1.60, 2.00]." in said
    others = "decoder-0 and review-0 need .10 [.05, .15] and .20 [.10, .30] more bits per byte than"
    assert f"{others} decoder-1." in said
    tied = make_headline(statements_of(table, gaps.assign(bits_gap_low=-0.5)), table)
    assert "not detectably fewer than decoder-0." in tied, "review-0's interval has no 0"
    noise = gaps.assign(bits_gap_low=-0.5, bits_gap_high=0.5)
    alike = make_headline(statements_of(table, noise), table)
    assert "not detectably fewer than decoder-0 and review-0." in alike
    assert "about as well as its base" in make_headline(statements_of(table, noise), table)
    steps = table.replace({"zoo:review-0": "zoo:decoder-0@step-50"})
    apart = gaps.replace({"zoo:review-0": "zoo:decoder-0@step-50"})
    assert all(each.verdict != OF_BASE for each in statements_of(steps, apart))
    assert unscored(1, 9).startswith("1 of 9 sentences has one word or is longer")
