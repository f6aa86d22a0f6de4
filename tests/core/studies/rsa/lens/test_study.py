"""What does it say now, from beginning to end: planted words, refusals, tables and figures."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from core.errors import SpecError
from core.models.loading.model import load_tokenizer
from core.results.columns import meaning
from core.results.estimates import Estimate
from core.results.export import Result
from core.results.statements import Statement
from core.studies.notices import base_left_out
from core.studies.rsa.lens.charts import LAYERS, PARTS, SENTENCE, draw_lens
from core.studies.rsa.lens.charts import OUTPUT as OUTPUT_PART
from core.studies.rsa.lens.spec import LensSpec
from core.studies.rsa.lens.study import STUDY, base_for, parts_of
from core.studies.rsa.lens.tables import PLAIN, RIVAL, TUNE, TUNED
from core.studies.rsa.lens.tasks import SHUFFLES
from core.studies.rsa.lens.text import (
    DECIDES,
    OUTPUT,
    PROMOTES,
    SHUFFLED,
    make_headline,
)
from tests.core.studies.rsa.facts import unnamed
from tests.core.tiny_models import save_tiny

FEW: dict[str, Any] = {"sentences": 20, "others": (), "sentence": "the man opened the door"}


def ran(base: str, *models: str, **more: Any) -> Any:
    return STUDY.run(LensSpec(base=base, models=models, **FEW | more))


def saved(folder: Path, kind: str, name: str, **more: Any) -> str:
    return f"path:{save_tiny(folder / name, kind, head=True, **more)}"


def test_a_direction_that_a_layer_adds_is_the_first_word(tmp_path: Path) -> None:
    base = saved(tmp_path, "gpt2", "base")
    copy = shutil.copytree(base.removeprefix("path:"), tmp_path / "planted")
    weights = load_file(copy / "model.safetensors")
    matrix = weights["transformer.wte.weight"]
    token = int((matrix - matrix.mean(1, keepdim=True)).norm(dim=1).argmax())
    weights["transformer.h.0.mlp.c_proj.bias"] += 0.2 * matrix[token]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    result = ran(base, f"path:{copy}")
    (written,) = load_tokenizer(base).tokens([token])
    words = result.tables["promoted_words"]
    at = words[(words["layer"] == 1) & (words["rank"] == 1)]
    assert at["token"].tolist() == [written, written]
    first = result.table[result.table["layer"] == 0]
    assert first["auc"].isna().all()  # the embeddings are those of the base
    assert (first["promoted"] == "").all()
    assert set(words["layer"]) == {1, 2, 3}


@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_causal_and_masked_models_have_all_tables_and_figures(kind: str, tmp_path: Path) -> None:
    base, tuned, rival = (saved(tmp_path, kind, name, seed=seed)
                          for seed, name in enumerate("abc"))  # fmt: skip
    result = ran(base, tuned, others=(rival,))
    assert not result.failures
    tables = result.tables
    assert set(tables["promoted"]["part"]) == {TUNE, RIVAL}
    assert set(tables["through_head"]["model"]) == {base, tuned}
    assert set(tables["through_head"]["lens"]) == {PLAIN, TUNED}
    assert tables["through_head"]["lens_kl"].min() >= 0
    top = tables["through_head"].query("layer == 3")
    assert top["lens_kl"].max() < 1e-5
    assert (top["same_top"] == 1).all()
    assert set(tables["said"]["position"]) == set(range(1, tables["said"]["position"].max() + 1))
    assert ((tables["favoured"]["raised_share"] > 0) & (tables["favoured"]["low"] > 0)).all()
    assert all(meaning(name, column) for name, table in tables.items() for column in table.columns)
    assert not unnamed(result.statements, result.headline)
    for part in PARTS:
        assert draw_lens(result, part)
    assert len(STUDY.figures(result)) == 6


def test_a_masked_sentence_is_read_in_its_order(tmp_path: Path) -> None:
    base, tuned = (saved(tmp_path, "bert", str(seed), seed=seed) for seed in (0, 1))
    said = ran(base, tuned, sentence="the old man the old door the man").tables["said"]
    rows = said[(said["model"] == tuned) & (said["lens"] == PLAIN) & (said["layer"] == 0)]
    written = load_tokenizer(base)
    (cut,) = written.encode([["the", "old", "man", "the", "old", "door", "the", "man"]])
    assert rows["token"].tolist() == written.tokens(cut.ids[1:-1])


def test_a_model_against_itself_is_refused(tmp_path: Path) -> None:
    base, other = (saved(tmp_path, "llama", str(seed), seed=seed) for seed in (0, 1))
    with pytest.raises(SpecError, match="cannot be compared with itself"):
        ran(base, base)
    assert base_left_out(base) in ran(base, other, base).notices
    copy = shutil.copytree(base.removeprefix("path:"), tmp_path / "copy")
    result = ran(base, f"path:{copy}")
    assert "nothing has changed" in " ".join(result.failures.values())
    assert result.table.empty
    assert STUDY.figures(result) == {}


@pytest.mark.parametrize(
    ("kinds", "more", "said"),
    [
        (("t5", "t5"), {}, "predicts no words"),
        (("llama", "qwen2"), {}, "different subwords"),
        (("llama", "llama"), {"num_hidden_layers": 2}, "cannot be subtracted"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(
    kinds: tuple[str, str], more: dict[str, int], said: str, tmp_path: Path
) -> None:
    first = saved(tmp_path, kinds[0], "first")
    second = saved(tmp_path, kinds[1], "second", seed=1, **more)
    result = ran(first, second)
    assert said in " ".join(result.failures.values())
    assert result.table.empty


def test_a_masked_model_whose_tokenizer_has_no_mask_is_refused(tmp_path: Path) -> None:
    from core.errors import ModelError
    from core.studies.rsa.lens import tasks

    base = saved(tmp_path, "bert", "base")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = tmp_path / "base" / name
        if path.is_file():
            path.write_text(path.read_text().replace("mask_token", "spare_token"))
    with pytest.raises(ModelError, match="has no mask"):
        tasks.read_layers(base, base, "", "", (("the", "man"),) * 4, ())


def test_included_fine_tunes_are_read_beside_their_own_bases() -> None:
    assert base_for("zoo:review-1", "zoo:decoder-0") == "zoo:decoder-1"
    assert base_for("zoo:nli-0", "zoo:decoder-0") == "zoo:seed-0"
    assert base_for("zoo:decoder-1", "zoo:decoder-0") == "zoo:decoder-0"
    spec = LensSpec(base="zoo:decoder-1", others=("zoo:decoder-1", "zoo:review-0"))
    assert parts_of(spec) == dict.fromkeys(spec.models, TUNE)


def test_few_typical_tokens_are_said(tmp_path: Path) -> None:
    base, other = (saved(tmp_path, "bert", str(seed), seed=seed) for seed in (0, 1))
    text = tmp_path / "own.tsv"
    text.write_text("a\tthe man\n")
    result = ran(base, other, labelled=str(text))
    assert any("no AUC was computed" in notice for notice in result.notices)
    assert result.table["auc"].isna().all()
    assert "now favours" in result.headline


def test_the_headline_says_where_rivals_do_as_well(tmp_path: Path) -> None:
    base, other = (saved(tmp_path, "llama", str(seed), seed=seed) for seed in (0, 1))
    tables = ran(base, other).tables
    facts = [
        Statement(other, PROMOTES, Estimate(0.8), (1,), metric=TUNE),
        Statement(other, SHUFFLED, Estimate(0.6), (1,)),
        Statement("zoo:seed-1", PROMOTES, Estimate(0.7), (1,), metric=RIVAL),
        Statement(other, OUTPUT, Estimate(0.9), metric=TUNE),
        Statement(other, DECIDES, Estimate(2.0, 1.8, 2.2, kind="amount"), metric=PLAIN),
        Statement(other, DECIDES, Estimate(1.0, 0.8, 1.2, kind="amount"), metric=TUNED),
    ]
    headline = make_headline(facts, tables)
    assert not unnamed(facts, headline)
    assert "promotes words of its text with AUC .80 (best rival, seed-1: .70)." in headline
    assert "more than rivals" not in headline, "AUCs have no intervals"
    below = [*facts[:2], Statement("zoo:seed-1", PROMOTES, Estimate(0.85), (1,), metric=RIVAL)]
    less = "promotes words of its text with AUC .80 (best rival, seed-1: .85)"
    assert less in make_headline(below, tables)
    assert "favours words of its text with AUC .90" in headline, "no rival's output was compared"
    result = Result("lens", {}, "", tables, statements=tuple(below))
    for said, first in ((below, LAYERS), (facts, OUTPUT_PART)):
        view = STUDY.views[0]
        shown = replace(result, statements=tuple(said))
        assert view.opening(shown) == first, "a null result opens at its comparison"
        assert view.choices(shown)[0] == (first,)
    assert less in STUDY.views[0].sentence(result, LAYERS)
    assert "favours" in STUDY.views[0].sentence(result, OUTPUT_PART)
    assert STUDY.views[0].sentence(result, SENTENCE) == ""
    empty = {name: table.iloc[:0] for name, table in tables.items()}
    assert make_headline([], empty) == ""


def test_methods_name_shuffles_and_the_choice_made_beforehand(tmp_path: Path) -> None:
    base, other = (saved(tmp_path, "llama", str(seed), seed=seed) for seed in (0, 1))
    methods = ran(base, other).methods
    assert f"{SHUFFLES} differences whose dimensions were shuffled" in methods
    assert "chosen beforehand" in methods


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_fine_tune_without_a_head_is_read_through_its_bases() -> None:
    result = STUDY.run(LensSpec(models=("zoo:nli-0",), **{**FEW, "sentences": 120}))
    assert not result.failures
    assert set(result.table["base"]) == {"zoo:seed-0"}
    layers = result.tables["through_head"].set_index(["lens", "layer"])
    below = layers.loc[(slice(None), 3), :].reset_index().groupby("lens")["lens_kl"].mean()
    assert below[TUNED] < below[PLAIN]
