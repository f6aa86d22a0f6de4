"""Configurations, tried without weights: what is refused, in which time, and that nothing but an
error of ours comes of one that is bent."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from core.errors import CancelledError, ModelError, PalimpsestError
from core.models import load_model, trial
from core.models.architectures import ARCHITECTURES
from core.models.files.layout import CONFIG
from core.models.loading import counting
from core.models.loading.construction import import_transformers
from core.models.loading.task_models import load_task
from core.models.trial import implied_numbers, making
from core.runs.process.isolation import ApartTimeoutError
from tests.cases import exhaustive
from tests.core.tiny_models import TYPES, save_tiny, tiny_config

FAMILIES = ("bert", "albert", "longformer", "t5", "gpt2", "mixtral", "deberta-v2", "modernbert")
FEW = ("bert", "albert", "gpt2")
VALUES = (0, -1, 1, 3, 7, 64, 10**6, 2**40, 1.5, float("inf"), "nope", "", None, True, [], [3], {})


def change(folder: Path, **changes: object) -> str:
    path = folder / CONFIG
    config = json.loads(path.read_text(encoding="utf8"))
    path.write_text(json.dumps(config | changes), encoding="utf8")
    return f"path:{folder}"


@pytest.mark.parametrize("model_type", exhaustive(TYPES, *FAMILIES))
def test_work_is_counted_in_every_type(model_type: str) -> None:
    """As many multiplications as there are parameters a token, and nothing beyond a small model's
    share: no type ends the count before its last layer."""
    library = import_transformers()
    model = counting.make_counted(library.AutoModel, tiny_config(model_type, 60))
    counted: list[counting._Operations] = []

    class Kept(counting._Operations):
        def __init__(self, *limits: Any) -> None:
            super().__init__(*limits)
            counted.append(self)

    last: list[str] = []
    body = model.get_encoder() if ARCHITECTURES[model_type].family == "encoder-decoder" else model
    norms = [module for module in model.modules() if "Norm" in type(module).__name__]
    for module in norms or [body]:
        module.register_forward_hook(lambda *_: last.append("ran"))
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(counting, "_Operations", Kept)
        counting.count_work(model, model_type)
    (operations,) = counted
    limit = counting.FREE + counting.TIMES * counting.PASSING * counting.TOKENS * sum(
        weight.numel() for weight in model.parameters()
    )
    assert 0 < limit - operations.left < 0.01
    assert len(last) >= len(norms) // 2  # of a decoder, of all layers


def test_what_is_counted_is_what_a_matrix_product_multiplies() -> None:
    weight = torch.empty((48, 32), device="meta")
    operations = counting._Operations(1.0, 10**6)
    with operations:
        torch.empty((8, 32), device="meta") @ weight.T
    spent = 1.0 - operations.left
    products = counting.PASSING * 8 * 32 * 48
    beside = 3 * counting.CALLING + 10**4 * counting.WRITING
    assert products < spent < products + beside


def test_numbers_are_those_of_the_model(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path)
    model = load_model(f"path:{folder}", device="cpu").model
    tables = sum(table.numel() * table.element_size() for table in model.buffers())
    held = sum(weight.numel() for weight in model.parameters())
    assert implied_numbers("a", folder, "AutoModel") == held + tables // 4


def test_kernels_and_numbers_that_size_nothing_change_no_state(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path)
    ids = torch.arange(5, 29)[None]
    plain = load_model(f"path:{folder}", device="cpu").model(input_ids=ids)[0]
    ref = change(folder, chunk_size_feed_forward=7, _attn_implementation="flash_attention_2")
    assert torch.equal(load_model(ref, device="cpu").model(input_ids=ids)[0], plain)


@pytest.mark.parametrize(
    ("model_type", "changes", "reason"),
    [
        pytest.param(
            *("albert", {"inner_group_num": 16, "num_hidden_layers": 512}, "computes far more"),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            *("albert", {"inner_group_num": 16, "num_hidden_groups": 512}, "more than 20,000"),
            marks=pytest.mark.exhaustive,
        ),
        ("longformer", {"attention_window": 1024}, "needs far more memory for a sentence"),
        ("bert", {"hidden_act": "nope"}, "makes no bert model that runs .look at hidden_act"),
        ("bert", {"num_attention_heads": 5}, "makes no bert model that runs"),
        ("gpt2", {"n_inner": 65_536}, "asks for 13 million parameters"),
    ],
)
def test_what_no_model_is_like_is_refused_in_seconds(
    tmp_path: Path, model_type: str, changes: dict[str, Any], reason: str
) -> None:
    ref = change(save_tiny(tmp_path, model_type), **changes)
    began = time.process_time()
    with pytest.raises(ModelError, match=reason):
        load_model(ref, device="cpu")
    assert time.process_time() - began < 1.0  # of this process


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_tree_without_end_is_ended_in_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were its bound not there, a million layers would still be refused."""
    from core.models.files.bounds import BOUNDS

    monkeypatch.setitem(BOUNDS, "inner_group_num", 10**7)
    ref = change(save_tiny(tmp_path, "albert"), inner_group_num=10**6)
    with pytest.raises(ModelError, match="inner_group_num = 1000000"):  # there, it is
        load_model(ref, device="cpu")
    config = tiny_config("albert", 60, inner_group_num=10**6)
    with pytest.raises(counting.TooMuchError, match="more than 20,000 modules"):
        counting.make_counted(import_transformers().AutoModel, config)


def test_a_trial_that_takes_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*arguments: object, **named: object) -> None:
        raise ApartTimeoutError

    monkeypatch.setattr(trial._trials, "ask", slow)
    with pytest.raises(ModelError, match="takes more time to set up than any model"):
        implied_numbers("a model", tmp_path, "AutoModel")


def test_nothing_but_errors_of_ours_leaves_the_making_of_a_model() -> None:
    settings = {"model_type": "bert", "layer_norm_eps": 1}
    with pytest.raises(ModelError, match="look at layer_norm_eps"), making("a", settings):
        raise ValueError("layer_norm_eps: pass ignore_mismatched_sizes=True")
    with pytest.raises(ModelError, match="look at pad_token_id"), making("a", settings):
        raise AssertionError("Padding_idx must be within num_embeddings")
    with pytest.raises(ModelError) as refusal, making("a", settings):
        raise ZeroDivisionError
    assert "ignore" not in str(refusal.value)
    for error in (CancelledError("x"), MemoryError()):
        with pytest.raises(type(error)), making("a", settings):
            raise error


def bent(folder: Path, number: int, seed: int) -> list[dict[str, Any]]:
    """Draw changes of a configuration, one or two keys each."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf8"))
    drawn = random.Random(seed)
    keys = sorted(config.keys() - {"model_type"})
    return [
        {key: drawn.choice(VALUES) for key in drawn.sample(keys, drawn.choice((1, 1, 2)))}
        for _ in range(number)
    ]


def check_bent(tmp_path: Path, model_type: str, number: int) -> list[bool]:
    """Load a model with bent configurations: each works, or is refused by an error of ours."""
    folder = save_tiny(tmp_path, model_type)
    before = (folder / CONFIG).read_text(encoding="utf8")
    outcomes = []
    for changes in bent(folder, number, seed=len(model_type)):
        (folder / CONFIG).write_text(before, encoding="utf8")
        ref = change(folder, **changes)
        began = time.process_time()
        try:
            load_model(ref, device="cpu")
            outcomes.append(True)
        except PalimpsestError:
            outcomes.append(False)
        except Exception as error:
            pytest.fail(f"{changes}: {error!r}")
        assert time.process_time() - began < 10, changes
    return outcomes


@pytest.mark.parametrize("model_type", FEW)
def test_bent_configurations_work_or_are_refused(tmp_path: Path, model_type: str) -> None:
    assert len(check_bent(tmp_path, model_type, 6)) == 6


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("model_type", FAMILIES)
def test_many_bent_configurations_work_or_are_refused(tmp_path: Path, model_type: str) -> None:
    assert {*check_bent(tmp_path, model_type, 60)} == {True, False}


def test_a_bent_configuration_with_a_head_of_ours_is_refused(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path)
    for changes in ({"hidden_act": "nope"}, {"palimpsest_head": {"kind": "arc", "size": "x"}}):
        ref = change(folder, **{"palimpsest_head": {"kind": "arc", "size": 8}, **changes})
        with pytest.raises(ModelError):
            load_task(ref)
