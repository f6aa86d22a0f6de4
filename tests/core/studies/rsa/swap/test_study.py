"""Layer swap, compared with models built by hand and with what is known of the included frozen
fine-tunes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from core.commands.main import main as command
from core.errors import CorpusError, ModelError, SpecError, TaskError
from core.models.identity import Identity
from core.results.estimates import Estimate, estimate_of
from core.results.names import layers_in_words, short_name
from core.results.statements import Statement, lead_of
from core.runs.runner import Outputs
from core.studies.notices import base_left_out, few_sentences
from core.studies.rsa.layers.runs import COMPARED
from core.studies.rsa.swap import layer_changes
from core.studies.rsa.swap import replacement as exchanging
from core.studies.rsa.swap import tasks as swapping
from core.studies.rsa.swap.interventions import BASE_WAYS, DONOR_WAYS
from core.studies.rsa.swap.spec import SwapSpec
from core.studies.rsa.swap.study import STUDY, frozen_siblings, prepare
from core.studies.rsa.swap.tables import exchange_rows
from core.studies.rsa.swap.tasks import swap_changes, swap_layers
from core.studies.rsa.swap.text import (
    BEYOND_RANDOM,
    FROZEN,
    GUESSES,
    LOSES,
    LOWER_FREE,
    NEEDED,
    NO_LOSS,
    REVERTED,
    SCORES,
    UNCOMPARED,
    UNEXPLAINED,
    make_headline,
    make_methods,
    statements_of,
    unread_notices,
)
from core.vectors import turning
from core.vectors.examples import BATCH, chance, read_examples
from core.vectors.turning import turned
from tests.core.studies.alignment.conftest import WORDS, save_classifier
from tests.core.studies.rsa.facts import stated, unnamed
from tests.core.tiny_models import plain_tokenizer

LAYERS = 3
_DRAWN = np.random.default_rng(0)
LABELLED = tuple(
    (" ".join(_DRAWN.choice(WORDS, size=int(_DRAWN.integers(2, 9)))), ("bad", "good")[number % 2])
    for number in range(40)
)
CHANGED = 2  # the only layer that the tiny fine-tune trained


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A tiny classifier as base, and another one that differs in everything but layer 3 and the
    embeddings."""
    base = save_classifier(tmp_path_factory.mktemp("base"), 0, layers=LAYERS)
    folder = tmp_path_factory.mktemp("tuned")
    save_classifier(folder, 0, layers=LAYERS)
    from transformers import RoFormerForSequenceClassification

    model = RoFormerForSequenceClassification.from_pretrained(folder)
    drawn = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "layer.0." in name or "layer.1." in name:
                weight += 0.5 * torch.randn(weight.shape, generator=drawn)
        inputs = plain_tokenizer(f"path:{folder}")(
            [text for text, _ in LABELLED], return_tensors="pt", padding=True
        )
        logits = model.eval()(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
        ).logits
        model.classifier.out_proj.bias[1] -= (
            logits[:, 1] - logits[:, 0]
        ).median()  # it says both labels
    model.save_pretrained(folder)
    return base, f"path:{folder}"


@pytest.fixture(scope="module")
def value(pair: tuple[str, str]) -> dict[str, Any]:
    return measured(pair)


def measured(pair: tuple[str, str]) -> dict[str, Any]:
    """Of both tasks of a fine-tune."""
    changes = swap_changes(*pair, "", "", LABELLED, 2, 0)
    return {**swap_layers(*pair, "", "", LABELLED, True), **changes}


def built_by_hand(pair: tuple[str, str], from_base: Callable[[int], bool]) -> np.ndarray:
    """Right answers of the fine-tune with the weights of the chosen layers copied from the base's
    file."""
    from transformers import RoFormerForSequenceClassification

    base, tuned = (
        RoFormerForSequenceClassification.from_pretrained(ref.removeprefix("path:")).eval()
        for ref in pair
    )
    weights = tuned.state_dict()
    for name, weight in base.state_dict().items():
        layer = int(name.split("layer.")[1].split(".")[0]) + 1 if "encoder.layer." in name else 0
        if name.startswith("roformer.") and from_base(layer):
            weights[name] = weight
    tuned.load_state_dict(weights)
    inputs = plain_tokenizer(pair[1])(
        [text for text, _ in LABELLED], return_tensors="pt", padding=True
    )
    with torch.inference_mode():
        said = tuned(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
        ).logits.argmax(-1)
    return (said.numpy() == [("bad", "good").index(label) for _, label in LABELLED]).astype(int)


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_every_exchange_is_the_model_that_copied_weights_give(pair, value, layer: int) -> None:
    assert (value["below"][layer] == built_by_hand(pair, lambda here: here <= layer)).all()
    assert (value["above"][layer] == built_by_hand(pair, lambda here: here > layer)).all()
    assert (value["layer"][layer] == built_by_hand(pair, lambda here: here == layer)).all()
    assert (value["only"][layer] == built_by_hand(pair, lambda here: here != layer)).all()


def test_whole_models_score_what_they_score(pair, value) -> None:
    own = built_by_hand(pair, lambda here: False)
    assert (value["own"] == own).all()
    assert (value["above"][-1] == own).all()
    assert (value["truncated"][-1] == own).all()
    assert (value["below"][-1] == built_by_hand(pair, lambda here: True)).all()
    assert any((value["layer"][layer] != own).any() for layer in (1, 2)), (
        "the exchange does something"
    )


def test_self_tests_are_exact_and_unchanged_layers_lose_nothing(value) -> None:
    assert [value[f"{name}_difference"] for name in ("self", "whole", "frozen")] == [0.0, 0.0, 0.0]
    assert value["unchanged"].tolist() == [True, False, False, True]
    assert (value["sizes"] > 0).tolist() == [False, True, True, False]
    for layer in (0, 3):
        assert (value["layer"][layer] == value["own"]).all()
        assert (value["noise/layer"][:, layer] == value["own"]).all()


def test_some_layers_are_swapped_as_among_all_and_have_the_only_rows(pair, value) -> None:
    some = (0, 2)
    changes = swap_changes(*pair, "", "", LABELLED, 2, 0, layers=some)
    part = {**swap_layers(*pair, "", "", LABELLED, True, layers=some), **changes}
    whole, fewer = (exchange_rows("m", each, 0.5, 20, 0) for each in (value, part))
    rows = whole[whole["layer"].isin(some)].reset_index(drop=True)
    ends = [f"{name}_{end}" for name in ("loss", "excess") for end in ("low", "high")]
    pd.testing.assert_frame_equal(fewer.drop(columns=ends), rows.drop(columns=ends))
    assert (fewer["loss_low"] >= rows["loss_low"]).all(), "fewer layers are corrected for"
    assert set(fewer[fewer["way"] == "removed"]["layer"]) == {2}


def test_of_a_deep_model_some_layers_are_swapped_and_small_ones_keep_their_keys() -> None:
    def planned(deep: int, **more: Any) -> list[dict[str, Any]]:
        spec = SwapSpec(compare=("zoo:pos-0",), frozen=False, **more)
        heads = {"zoo:pos-0": SimpleNamespace(kind="words")}
        values: dict[Any, Any] = {
            ("identity", ref): Identity(ref, "content", "weights", deep)
            for ref in (spec.base, "zoo:pos-0")
        }
        values["examples"] = SimpleNamespace(heads=heads, pairs={"words": LABELLED})
        return [dict(task.arguments) for task in STUDY.plan(spec, Outputs(values))]

    assert all("layers" not in arguments for arguments in planned(6))
    swapped, changed = planned(12)
    assert swapped["layers"] == (0, 2, 4, 6, 8, 10, 12)
    assert swapped["random_layers"] == changed["layers"] == (0, 6, 12)
    assert "random_layers" not in planned(12, random=False)[0]
    for arguments in planned(12, layers=(1, 5, 9)):
        assert arguments["layers"] == (1, 5, 9)
        assert "random_layers" not in arguments
    assert all("layers" not in arguments for arguments in planned(12, layers=(-1,)))
    with pytest.raises(SpecError, match="layers 0 to 6; layer 9 is not among them"):
        planned(6, layers=(9,))


@pytest.mark.parametrize("random", [False, True])
def test_methods_say_what_is_computed_at_three_layers_alone(random: bool) -> None:
    what = "random changes and random weights" if random else "random changes"
    said = make_methods(SwapSpec(random=random), {"path:deep": 12}, {}, {})
    assert f"; {what} at the first, middle and last of these)" in said
    assert "evenly spaced" not in make_methods(SwapSpec(random=random), {"path:small": 6}, {}, {})


def test_layers_that_are_not_changed_at_random_have_no_excess_and_no_random_rows(
    pair, value
) -> None:
    some, few = (0, 1, 2, 3), (0, 2)
    part = swap_layers(*pair, "", "", LABELLED, True, layers=some, random_layers=few)
    part |= swap_changes(*pair, "", "", LABELLED, 2, 0, layers=few)
    whole, fewer = (exchange_rows("m", each, 0.5, 20, 0) for each in (value, part))
    drawn = {way for way in set(whole["way"]) if way.startswith(("noise", "random"))}
    assert len(drawn) == 4
    rows = whole[~whole["way"].isin(drawn) | whole["layer"].isin(few)].reset_index(drop=True)
    excess = ["excess", "excess_low", "excess_high"]
    rows.loc[~rows["layer"].isin(few), excess] = np.nan
    assert rows["excess"].notna().sum() == 2 * len(few)
    pd.testing.assert_frame_equal(fewer, rows)


@pytest.mark.parametrize(
    ("beyond", "compared", "said"),
    [
        ((), (), ""),
        ((), (6,), "not measurably more"),
        ((6,), (0, 6), "this is more"),
    ],
)
def test_a_headline_compares_only_layers_that_were_changed_at_random(
    beyond: tuple[int, ...], compared: tuple[int, ...], said: str
) -> None:
    layers = (0, 2, 4, 6)
    single = [
        {"model": "m", "way": "layer", "layer": layer, "loss": 0.1, "loss_low": 0.05,
         "loss_high": 0.2, "excess_low": np.nan if layer not in compared else
         0.01 if layer in beyond else -0.01}
        for layer in layers
    ]  # fmt: skip
    own = pd.DataFrame([{"model": "m", "score": 0.9, "low": 0.85, "high": 0.95, "chance": 0.3}])
    made = statements_of({"own": own, "swap": pd.DataFrame(single)})
    assert stated(made, NEEDED).layers == layers
    assert stated(made, UNCOMPARED).layers == tuple(each for each in layers if each not in compared)
    text = make_headline(made, {"m": "UAS"})
    assert said in text
    assert ("a random change" in text) == bool(compared)
    if compared:
        assert f"in {layers_in_words(beyond or compared)}, this is" in text


def test_the_calls_of_the_fine_tune_are_recorded_once_for_all_random_changes(
    pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[int] = []
    calls_of = layer_changes.calls_of

    def counting(model: Any, run: Any) -> Any:
        recorded.append(1)
        return calls_of(model, run)

    monkeypatch.setattr(layer_changes, "calls_of", counting)
    swap_changes(*pair, "", "", LABELLED, 3, 0)
    assert len(recorded) == -(-len(LABELLED) // BATCH), "once a batch"


def test_swaps_that_come_to_the_same_run_once(pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """At layer 0 a single layer is all up to it; at the top, one layer is all above the last but
    one, and a head that reads a layer is the model without the layers above."""
    work, origin = swapping._opened(*pair, LABELLED, ())
    runs: list[Any] = []
    run = layer_changes.Pair.run

    def counting(*given: Any) -> Any:
        runs.append(given)
        return run(*given)

    monkeypatch.setattr(layer_changes.Pair, "run", counting)
    work.run(origin, BASE_WAYS)
    swaps = len(BASE_WAYS) * (LAYERS + 1) - 1
    assert len(runs) == (swaps - 6) * len(work.batches)


def test_sentences_are_cut_where_the_tokenizer_ends_them(pair, tmp_path: Path) -> None:
    folder = shutil.copytree(pair[1].removeprefix("path:"), tmp_path / "short")
    settings = folder / "tokenizer_config.json"
    changed = json.loads(settings.read_text(encoding="utf8")) | {"model_max_length": 4}
    settings.write_text(json.dumps(changed), encoding="utf8")
    work, _ = swapping._opened(pair[0], f"path:{folder}", LABELLED, ())
    assert max(map(len, work.encoded.ids)) == 4


def test_a_large_model_is_tested_on_few_of_the_longest_sentences(
    pair, value, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, _ = swapping._opened(*pair, LABELLED, ())
    longest = work.batches[0]
    assert work.tested.sentences == longest.sentences
    parameters = sum(weight.numel() for weight in work.pair.task.model.parameters())
    monkeypatch.setattr(exchanging, "TESTED", 3.5 * parameters * longest.ids.shape[1])
    assert work.tested.sentences == longest.sentences[:3]
    assert work.tested.ids.shape == (3, longest.ids.shape[1])
    again = measured(pair)
    assert all(np.array_equal(value[name], again[name]) for name in value)


def test_states_that_are_too_large_to_keep_are_run_again(
    pair, value, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (exchanging, layer_changes):
        monkeypatch.setattr(module, "MOST_KEPT", 0)
    again = measured(pair)
    assert all(np.array_equal(value[name], again[name]) for name in value)


def test_an_exchange_that_goes_wrong_is_not_shown(pair, monkeypatch: pytest.MonkeyPatch) -> None:
    right = exchanging.built

    def wrong(way: str, layer: int, *given: Any) -> Any:
        hidden, layers = right(way, layer, *given)
        return hidden, layers[::-1]

    monkeypatch.setattr(exchanging, "built", wrong)
    with pytest.raises(ModelError, match="self-test"):
        swap_layers(*pair, "", "", LABELLED, False)
    with pytest.raises(ModelError, match="self-test"):
        swap_changes(*pair, "", "", LABELLED, 2, 0)


@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_rounding_of_logits_is_measured_on_the_scale_of_a_logit(scale: float) -> None:
    named = SimpleNamespace(task=SimpleNamespace(ref="path:tuned"))
    logits = scale * torch.tensor([[1.0, -0.5]])
    within = max(1.0, scale) * 9e-5
    assert exchanging.differ(named, "a copy", logits + within, logits) == pytest.approx(
        within, rel=0.1
    )
    with pytest.raises(ModelError, match="reliably"):
        exchanging.differ(named, "a copy", logits + 2 * within, logits)
    with pytest.raises(ModelError, match="reliably"):
        exchanging.differ(named, "a copy", -1e-6 * torch.eye(1, 2), 1e-6 * torch.eye(1, 2))


def test_another_shape_is_refused(pair, tmp_path: Path) -> None:
    other = save_classifier(tmp_path, 0, layers=2)
    with pytest.raises(ModelError, match="shape"):
        swap_layers(other, pair[1], "", "", LABELLED, False)
    with pytest.raises(ModelError, match="shape"):
        swap_changes(other, pair[1], "", "", LABELLED, 2, 0)


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
def test_a_turned_change_keeps_its_singular_values_and_not_its_directions(
    shape: tuple[int, int],
) -> None:
    change = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    made = turned(change, torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        torch.linalg.svdvals(made), torch.linalg.svdvals(change), rtol=1e-4, atol=1e-5
    )
    assert (made - change).norm() > 0.5 * change.norm()
    words = turned(change, torch.Generator().manual_seed(1), rows=False)
    torch.testing.assert_close(words.norm(dim=1), change.norm(dim=1))


def test_a_random_change_moves_outputs_as_far_as_the_real_one(pair) -> None:
    """Distances are measured again by hand: one layer on the fine-tune's own states."""
    from core.models import load_model
    from core.models.loading.layers import run_seen
    from core.models.loading.task_models import load_task
    from core.vectors.examples import batches, encode

    task, origin = load_task(pair[1]), load_model(pair[0], device="cpu").model
    parts = list(batches(encode(task.tokenizer, task.head, LABELLED, 64)))
    both = layer_changes.compare(pair[0], origin, task, parts[0])
    measured = layer_changes.Measured(both, parts)
    real = layer_changes.output_changes(measured, origin)
    donor, scale = layer_changes.noise_donor(measured, 0, real)
    squares, subwords = np.zeros(LAYERS + 1), 0
    for batch in parts:
        states, inside = run_seen(task.model, batch)[0], batch.mask.bool()
        for layer in range(1, LAYERS + 1):
            blocks = [None] * LAYERS
            blocks[layer - 1] = layer_changes.layer_list(donor)[layer - 1]
            moved: list[Any] = []
            handle = blocks[layer - 1].register_forward_hook(
                lambda module, inputs, output, moved=moved: moved.append(
                    output if isinstance(output, torch.Tensor) else output[0]
                )
            )
            both.run(batch, states[layer - 1], blocks)
            handle.remove()
            squares[layer] += float((moved[0] - states[layer])[inside].square().sum())
        subwords += int(inside.sum())
    changed = ~both.unchanged
    assert changed.any()
    by_hand = np.sqrt(squares / subwords)[1:]
    assert by_hand == pytest.approx(real[1:], rel=0.02, abs=1e-6)
    assert scale[~changed] == pytest.approx(1.0)
    plain = layer_changes.output_changes(measured, _unscaled(both))
    assert np.abs(plain[changed] / real[changed] - 1).max() > 0.05, "the scale matters"


def test_the_factors_of_a_random_change_are_those_of_the_donor(
    pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the outputs do not get as near as they should."""
    from core.models import load_model
    from core.models.loading.task_models import load_task
    from core.vectors.examples import batches, encode

    monkeypatch.setattr(layer_changes, "EQUAL_EFFECT", -1.0)
    monkeypatch.setattr(layer_changes, "MOST_SCALINGS", 2)
    task, origin = load_task(pair[1]), load_model(pair[0], device="cpu").model
    parts = list(batches(encode(task.tokenizer, task.head, LABELLED, 64)))
    both = layer_changes.compare(pair[0], origin, task, parts[0])
    measured = layer_changes.Measured(both, parts)
    real = layer_changes.output_changes(measured, origin)
    donor, scale = layer_changes.noise_donor(measured, 0, real)
    number_of = layer_changes.numbering(task.model)
    tuned = dict(layer_changes.body_of(task.model).named_parameters())
    factors = {
        (number_of(name), name): float((weight - tuned[name]).norm() / both.changes[name].norm())
        for name, weight in donor.named_parameters()
        if name in both.changes and weight.dim() == 2 and both.changes[name].norm() > 1e-3
    }
    assert factors
    for (layer, name), factor in factors.items():
        assert factor == pytest.approx(scale[layer], rel=1e-3), name


def _unscaled(both) -> Any:
    """The donor whose change was rotated and not scaled."""
    import copy

    donor = copy.deepcopy(layer_changes.body_of(both.task.model))
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in donor.named_parameters():
            if name in both.changes:
                rows = not layer_changes.BOTTOM.search(name)
                weight.add_(turned(both.changes[name], drawn, rows=rows))
    return donor


def test_a_wide_change_is_turned_by_permutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turning, "LARGEST_ROTATION", 4)
    change = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    made = turned(change, torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        torch.linalg.svdvals(made), torch.linalg.svdvals(change), rtol=1e-4, atol=1e-5
    )
    assert (made - change).norm() > 0.5 * change.norm()


def test_losses_are_paired_and_noise_is_taken_from_the_excess(value) -> None:
    table = exchange_rows("m", value, 0.5, 200, 0).set_index(["way", "layer"])
    untouched = table.loc[("layer", 3)]
    assert [untouched[name] for name in ("loss", "loss_low", "loss_high")] == [0.0, 0.0, 0.0]
    assert untouched["high"] > untouched["low"], "its score has a band all the same"
    row = table.loc[("layer", CHANGED)]
    noise = value["noise/layer"][:, CHANGED].mean()
    assert row["score"] == pytest.approx(value["layer"][CHANGED].mean())
    assert row["excess"] == pytest.approx(noise - row["score"])
    assert ("removed", 0) not in table.index


def test_a_layer_is_needed_only_if_its_loss_is_significant_among_all_layers() -> None:
    """Four of 40 sentences lose answers: 1.5 % of resamples have none of them."""
    own = np.full(40, 10)
    one = own - np.repeat([2, 0], [4, 36])

    def needed(layers: int) -> tuple[int, ...]:
        right = np.stack([one, *[own] * (layers - 1)])
        made: dict[str, Any] = dict.fromkeys(BASE_WAYS, right)
        made |= {"own": own, "total": own + 2}
        rows = exchange_rows("m", made, 0.1, 4000, 0)
        scores = pd.DataFrame([{"model": "m", "score": 0.8, "chance": 0.1}])
        facts = statements_of({"own": scores, "swap": rows})
        return next((each.layers for each in facts if each.verdict == NEEDED), ())

    assert needed(1) == (0,)
    assert needed(7) == ()


def test_chance_is_the_commonest_answer() -> None:
    assert chance("sentence", (("a", "x"), ("b", "x"), ("c", "y"))) == ("x", pytest.approx(2 / 3))
    assert chance("words", ((("a", "b"), ("N", "V")), (("c",), ("N",)))) == (
        "N",
        pytest.approx(2 / 3),
    )
    assert chance("arcs", ((("a", "b", "c"), (2, 3, 0)),)) == ("head at +1", pytest.approx(2 / 3))


def test_models_without_a_task_that_can_be_scored_are_refused_in_a_sentence() -> None:
    found = read_examples(("zoo:nli-0", "zoo:seed-1", "zoo:pos-0"), "", "demo-gold", (), 20)
    assert set(found.refused) == {"zoo:nli-0", "zoo:seed-1"}
    assert "contradiction" in found.refused["zoo:nli-0"], "its labels are named"
    assert "zoo:seed-1" in found.refused["zoo:seed-1"]
    assert list(found.heads) == ["zoo:pos-0"]
    assert found.truth == {"words": "the text's own"} or "sentence" in found.truth


def test_where_nothing_can_be_scored_the_study_fails_and_says_why(tmp_path: Path) -> None:
    arguments = ["swap", "--compare", "zoo:seed-1", "zoo:nli-0", "--out", str(tmp_path / "out")]
    assert command(arguments) != 0
    assert not (tmp_path / "out").exists()
    with pytest.raises(TaskError, match=r"(?s)zoo:seed-1.*zoo:nli-0.*contradiction"):
        STUDY.run(SwapSpec(compare=("zoo:seed-1", "zoo:nli-0")))


def test_the_base_is_not_swapped_with_itself() -> None:
    with pytest.raises(SpecError, match="zoo:seed-0 cannot be compared with itself"):
        STUDY.run(SwapSpec(compare=("zoo:seed-0",)))
    both = SwapSpec(compare=("zoo:seed-0", "zoo:pos-0"))
    compared = next(task.compute() for task in prepare(both) if task.role == COMPARED)
    assert compared.refs == ("zoo:pos-0",)
    assert compared.notices == (base_left_out("zoo:seed-0"),)


def test_one_sentence_many_times_is_refused() -> None:
    text = b"\n".join([b"The old man left the house."] * 20)
    with pytest.raises(CorpusError, match=r"mine\.txt has only one sentence"):
        STUDY.run(
            SwapSpec(compare=("zoo:pos-0",), corpus="upload:mine.txt"), {"upload:mine.txt": text}
        )


@pytest.mark.exhaustive
def test_a_frozen_fine_tune_of_the_box_loses_nothing_where_it_was_frozen() -> None:
    spec = SwapSpec(
        compare=("zoo:parse-frozen-4",), corpus="demo-gold", sentences=20, noises=2, draws=20
    )
    result = STUDY.run(spec)
    assert not result.failures
    assert few_sentences(20) in result.notices
    table = result.table.set_index(["way", "layer"])
    own = result.tables["own"].iloc[0]
    assert result.tables["sizes"]["unchanged"].tolist() == [True] * 5 + [False] * 2
    assert (table.loc["layer"]["loss"].iloc[:5] == 0).all()
    assert (table.loc["below"]["loss"].iloc[:5] == 0).all()
    assert table.loc[("layer", 6), "loss"] > 0
    assert table.loc[("above", 6), "score"] == own["score"] == table.loc[("truncated", 6), "score"]
    assert own["score"] > 0.6 > 0.45 > table.loc[("below", 6), "score"], (
        "the base under the head is near chance"
    )
    assert (own["self_difference"], own["whole_difference"], own["frozen_difference"]) == (0, 0, 0)
    assert own["answers"] == "the text's own"
    made = result.statements
    assert stated(made, SCORES).estimate == estimate_of(own, "score")
    lost = stated(made, LOSES)
    assert (lost.subject, lost.estimate) == (
        "zoo:parse-frozen-4", estimate_of(table.loc[("layer", lost.layers[0])], "loss"),
    )  # fmt: skip
    needed = table.loc["layer"]
    assert stated(made, NEEDED).layers == tuple(needed.index[needed["loss_low"] > 0])
    assert set(stated(made, NEEDED).layers) <= {5, 6}, (
        "no frozen layer is needed from the fine-tune"
    )
    assert stated(made, LOWER_FREE).layers[:5] == (0, 1, 2, 3, 4)
    assert not unnamed(
        [made for made in result.statements if made.verdict != LOWER_FREE], result.headline
    )
    assert set(STUDY.figures(result)) == {
        "swap-one-layer",
        "swap-up-to-layer",
        "swap-one-layer-all",
        "swap-up-to-layer-all",
    }


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_fine_tune_whose_random_changes_fail_is_left_out_and_says_why(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, tuned = pair
    failed = f"path:{shutil.copytree(tuned.removeprefix('path:'), tmp_path / 'failed')}"
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("".join(f"{label}\t{text}\n" for text, label in LABELLED))
    drawn = layer_changes.noise_donor

    def failing(own: Any, *rest: Any) -> Any:
        if own.pair.task.ref == failed:
            raise ModelError("No random change could be drawn.")
        return drawn(own, *rest)

    monkeypatch.setattr(layer_changes, "noise_donor", failing)
    spec = SwapSpec(base=base, compare=(tuned, failed), labelled=str(labelled), noises=2, draws=20)
    result = STUDY.run(spec)
    assert set(result.table["model"]) == {tuned}
    assert result.failures == {f"{failed}: random changes": "No random change could be drawn."}
    assert short_name(failed) not in result.headline


@pytest.mark.parametrize(
    ("given", "kinds", "said"),
    [
        ({"corpus": "demo-gold"}, {"sentence"}, ["demo-gold was not read"]),
        ({"corpus": "demo-gold"}, {"sentence", "arcs"}, []),
        ({}, {"sentence"}, []),
        ({"labelled": "mine.tsv"}, {"arcs", "words"}, ["mine.tsv was not read"]),
        ({"labelled": "mine.tsv"}, {"sentence"}, []),
    ],
)
def test_a_text_that_no_head_is_scored_on_is_named(
    given: dict[str, str], kinds: set[str], said: list[str]
) -> None:
    notices = unread_notices(SwapSpec(**given), kinds, "another")
    assert [notice.partition(":")[0] for notice in notices] == said


def test_a_headline_is_made_of_what_each_model_loses() -> None:
    score, guess = Estimate(0.86, 0.84, 0.88), Estimate(0.32)
    plain = [Statement("zoo:a-0", SCORES, score), Statement("zoo:a-0", GUESSES, guess)]
    loses = Statement("zoo:a-0", LOSES, Estimate(0.1, 0.09, 0.11), (2,))
    costly = [*plain, loses, Statement("zoo:a-0", NEEDED, layers=(1, 2))]
    unexplained = replace(loses, verdict=UNEXPLAINED)
    beyond = [*costly, unexplained, Statement("zoo:a-0", BEYOND_RANDOM, layers=(2,))]
    for made in (costly, beyond):
        assert not unnamed(made, make_headline(made, {"zoo:a-0": "UAS"}))
    kept = [*plain, Statement("zoo:a-0", NO_LOSS, Estimate(0.01, -0.01, 0.03), (2,))]
    assert not unnamed(plain, make_headline(kept, {"zoo:a-0": "UAS"}))
    assert ".01" not in make_headline(kept, {"zoo:a-0": "UAS"}), "what may be noise is no finding"
    left = make_headline(costly, {"zoo:a-0": "UAS"}, ("zoo:nli-0",))
    assert " nli-0 is not scored." in left
    more = make_headline(costly, {"zoo:a-0": "UAS"}, ("zoo:nli-0", "zoo:seed-1"))
    assert "nli-0 and seed-1 are not scored." in more


def test_the_first_sentence_says_what_frozen_layers_cost_where_two_lines_hold_it() -> None:
    scores = ("zoo:a-0", "zoo:b-0")
    made = [
        each
        for ref in scores
        for each in (
            Statement(ref, SCORES, Estimate(0.86, 0.84, 0.88)),
            Statement(ref, GUESSES, Estimate(0.32)),
            *(Statement(ref, of, Estimate(0.1, 0.09, 0.11), (2,)) for of in (LOSES, UNEXPLAINED)),
        )
    ]
    frozen = Statement("zoo:b-0", FROZEN, Estimate(0.8, 0.77, 0.82), (0, 1, 2))
    reverted = Statement("zoo:b-0", REVERTED, Estimate(0.47, 0.45, 0.49), (0, 1, 2))
    said = make_headline([*made, frozen, reverted], dict.fromkeys(scores, "UAS"))
    first = "with layers 0 to 2 frozen, b-0 reaches .80"
    assert said.partition(". ")[0].endswith(first)
    assert "frozen, it scores .80 [.77, .82]; reverted after training, .47 [.45, .49]." in said
    many = dict.fromkeys(scores, "UAS of sentences of a text with a long name that fills a line")
    cut = make_headline([*made, frozen, reverted], many)
    assert f". {first[0].upper()}{first[1:]}." in cut
    assert "frozen" not in lead_of(cut)


def test_the_first_sentence_names_no_loss_that_a_random_change_costs_too() -> None:
    def lead(*excess: float) -> str:
        rows = pd.DataFrame(
            {"model": "zoo:a-0", "way": "layer", "layer": layer, "loss": loss, "loss_low": 0.01,
             "loss_high": 0.3, "excess_low": low}
            for layer, loss, low in zip(range(3), (0.1, 0.2, 0.05), excess, strict=True)
        )  # fmt: skip
        own = pd.DataFrame([{"model": "zoo:a-0", "score": 0.9, "chance": 0.3}])
        said = make_headline(statements_of({"own": own, "swap": rows}), {"zoo:a-0": "UAS"})
        return said.partition(". a-0 scores")[0]

    assert lead(0.02, 0.02, 0.02) == "Reverting a layer costs a-0 up to .20 of .90 UAS (layer 1)"
    assert lead(0.02, -0.02, 0.02).endswith("a-0 up to .10 of .90 UAS (layer 0)")
    assert lead(-0.02, np.nan, 0.02).endswith("up to .20 of .90 UAS (layer 1)"), "not compared"
    assert lead(-0.02, -0.02, -0.02) == (
        "Reverting any one layer to the base does not measurably lower the score of a-0 more than "
        "a random change of equal size does"
    )


def test_the_fine_tune_with_the_most_frozen_layers_is_stated_beside_the_reverted_score() -> None:
    below = [{"model": "zoo:a-0", "way": way, "layer": layer, "score": 0.9 - layer / 10}
             | dict.fromkeys(("loss", "loss_low", "loss_high", "excess_low"), 0.1)
             for way in ("below", "layer") for layer in range(5)]  # fmt: skip
    own = pd.DataFrame([{"model": "zoo:a-0", "score": 0.9, "chance": 0.3}])
    frozen = pd.DataFrame(
        {"model": ["zoo:a-2", "zoo:a-4"], "of": "zoo:a-0", "layer": [2, 4], "score": [0.88, 0.85]}
    )
    made = statements_of({"own": own, "swap": pd.DataFrame(below), "frozen": frozen})
    assert stated(made, FROZEN).baseline == "zoo:a-4"
    assert stated(made, FROZEN).layers == stated(made, REVERTED).layers == (0, 1, 2, 3, 4)
    assert (stated(made, FROZEN).number.value, stated(made, REVERTED).number.value) == (0.85, 0.5)


def test_frozen_siblings_are_of_the_same_base_task_and_dose() -> None:
    assert frozen_siblings(SwapSpec(), "zoo:parse-0") == {
        "zoo:parse-frozen-2": 2,
        "zoo:parse-frozen-4": 4,
    }
    assert frozen_siblings(SwapSpec(), "zoo:parse-slow") == {}
    assert frozen_siblings(SwapSpec(base="zoo:seed-1"), "zoo:parse-0") == {}


def test_the_band_of_noise_is_students_over_its_draws() -> None:
    """Every sentence has the same share of right answers: nothing is left open but how noise was
    drawn."""
    shares, sentences = np.array([3, 5, 6, 4, 6]), 30
    same = np.full((2, sentences), 8)
    made = {way.replace(" ", "/"): same for way in (*BASE_WAYS, *DONOR_WAYS)}
    noise = np.broadcast_to(shares[:, None, None], (len(shares), 2, sentences))
    made |= {"own": same[0], "total": np.full(sentences, 10), "noise/layer": noise}
    rows = exchange_rows("m", made, 0.1, 50, 0)
    found = rows[rows["way"] == "noise layer"].iloc[0]
    of_changes = len(shares) - 1, shares.mean() / 10, stats.sem(shares / 10)
    assert (found["score"], found["low"], found["high"]) == pytest.approx(
        (shares.mean() / 10, *stats.t.interval(0.95, *of_changes))
    )
    low, high = stats.t.interval(0.975, *of_changes)  # of both layers together
    assert (found["loss_low"], found["loss_high"]) == pytest.approx((0.8 - high, 0.8 - low))
    excess = rows[rows["way"] == "layer"].iloc[0]
    assert (excess["excess_low"], excess["excess_high"]) == pytest.approx((low - 0.8, high - 0.8))
