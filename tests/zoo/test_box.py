"""What the box that is shipped promises: tasks trained alike, truths that hold bit for bit, steps
in their order."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from core.models.files.adapters import read_adapter
from core.models.weights.origins import base_of
from core.models.zoo import CAUSAL, read_adapters, read_manifest, zoo_folder
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.rsa.tokens.study import STUDY
from core.studies.weights.clusters.tasks import deltas_of, open_pair
from extras.weights.scaling.tasks import choose_directions
from tests.core.contents import read_as
from zoo.recipe.plan import (
    KNOWN_TRUTHS,
    RANKS,
    SNAPSHOTS,
    Plan,
    adapter_runs,
    decoder_names,
    reader_runs,
    review_runs,
    settings_of,
)
from zoo.recipe.questions.passages import nearest_name
from zoo.recipe.settings import run_settings
from zoo.recipe.tasks import BOX_TASKS

MINILM = "hub:sentence-transformers/all-MiniLM-L6-v2"
ADAPTER_FILES = {
    "adapter_config.json", "adapter_model.safetensors", "config.json", "README.md", "training.json",
}  # fmt: skip
pytestmark = pytest.mark.skipif(not read_manifest(), reason="the box has no models yet: make zoo")


@pytest.fixture(scope="module")
def entries() -> dict[str, dict[str, Any]]:
    """The manifest's entries by name."""
    return {entry["name"]: entry for entry in read_manifest()}


def test_eighteen_runs_and_four_across_seeds_are_trained_alike_and_beat_guessing(
    entries: dict[str, dict[str, Any]],
) -> None:
    plain = {f"{task}-{run}": (task, run, "zoo:seed-0") for task in BOX_TASKS for run in range(3)}
    plain |= {
        f"sentiment-0-from-seed-{seed}": ("sentiment", 0, f"zoo:seed-{seed}")
        for seed in (1, 2, 3, 4)
    }
    for name, (task, run, base) in plain.items():
        entry = entries[name]
        assert (entry["task"], entry["base"], entry["frozen"], entry["dose"]) == (
            task,
            base,
            0,
            1.0,
        )
        assert entry["settings"] == vars(run_settings(task, run))
        assert entry["steps"] == entry["settings"]["steps"]
        error = (entry["baseline"] * (1 - entry["baseline"]) / entry["test_examples"]) ** 0.5
        assert entry["score"] > entry["baseline"] + 3 * error
    tuned = {name for name, entry in entries.items() if entry["base"]}
    assert tuned == set(plain) | {run.name for run in KNOWN_TRUTHS}


@pytest.mark.parametrize("run", KNOWN_TRUTHS, ids=lambda run: run.name)
def test_a_known_truth_differs_in_what_it_says_and_in_nothing_else(
    run: Any, entries: dict[str, dict[str, Any]]
) -> None:
    entry = entries[run.name]
    assert (entry["task"], entry["base"], entry["frozen"], entry["dose"]) == (
        run.task,
        "zoo:seed-0",
        run.frozen,
        run.dose,
    )
    settings = entries[f"{run.task}-0"]["settings"]
    assert entry["settings"] == {**settings, "frozen": run.frozen, "dose": run.dose}
    base, tuned = (
        load_file(zoo_folder() / "models" / name / "model.safetensors")
        for name in ("seed-0", run.name)
    )
    for key in (
        key for key in base if key.startswith("roformer.encoder.layer.") or ".embeddings." in key
    ):
        layer = int(key.split(".")[3]) if ".layer." in key else -1
        same = torch.equal(base[key].view(torch.int16), tuned[key].view(torch.int16))
        if run.frozen and layer < run.frozen:
            assert same, key
        elif key.endswith("weight") and "LayerNorm" not in key and layer >= 0:
            assert not same, key


def test_the_steps_of_a_seed_are_log_spaced_and_get_better(
    entries: dict[str, dict[str, Any]],
) -> None:
    steps = [entry for entry in entries.values() if entry["name"].startswith("seed-0@step-")]
    assert [entry["step"] for entry in steps] == list(SNAPSHOTS)
    assert [entry["tokens"] for entry in steps] == sorted(entry["tokens"] for entry in steps)
    losses = [entry["score"] for entry in [*steps, entries["seed-0"]]]
    assert losses == sorted(losses, reverse=True)


def test_adapters_say_their_score_are_better_than_their_baseline_and_stand_apart() -> None:
    plan = Plan(zoo_folder(), zoo_folder())
    included = [entry for entry in read_adapters() if entry["base"] != MINILM]
    adapters = {entry["name"]: entry for entry in included}
    runs = {
        run.name: run for listed in (adapter_runs, review_runs, reader_runs) for run in listed(plan)
    }
    assert set(adapters) == set(runs)
    assert not set(adapters) & {entry["name"] for entry in read_manifest()}
    for name, entry in adapters.items():
        run, folder = runs[name], zoo_folder() / "models" / name
        assert (entry["task"], entry["base"]) == (run.task, f"zoo:{run.base}")
        assert entry["settings"] == vars(settings_of(plan, run))
        assert read_adapter(folder).rank == run.rank
        assert {path.name for path in folder.iterdir()} == ADAPTER_FILES
        assert entry["bytes"] < 2_000_000
        if entry["metric"] == "held_out_loss":
            assert entry["score"] < entry["baseline"] - 0.1, name
        else:
            error = (entry["baseline"] * (1 - entry["baseline"]) / entry["test_examples"]) ** 0.5
            assert entry["score"] > entry["baseline"] + 3 * error


def test_two_adapters_a_task_of_a_model_that_is_not_included() -> None:
    adapters = {entry["name"]: entry for entry in read_adapters() if entry["base"] == MINILM}
    tasks = ("nli", "parse", "sentiment")
    assert set(adapters) == {f"minilm-{task}-{run}" for task in tasks for run in (0, 1)}
    for name, entry in adapters.items():
        folder = zoo_folder() / "models" / name
        assert base_of(entry["ref"]) == MINILM  # found without the Hub
        assert read_adapter(folder).rank == entry["settings"]["rank"] == 8
        assert {path.name for path in folder.iterdir()} == ADAPTER_FILES
        card = (folder / "README.md").read_text(encoding="utf8")
        for part in ("base_model: sentence-transformers/all-MiniLM-L6-v2", "apache-2.0", "--base"):
            assert part in card
        error = (entry["baseline"] * (1 - entry["baseline"]) / entry["test_examples"]) ** 0.5
        assert entry["score"] > entry["baseline"] + 3 * error


def test_three_decoders_differ_in_their_seed_only_and_beat_bigrams(
    entries: dict[str, dict[str, Any]],
) -> None:
    decoders = [entry for entry in entries.values() if entry["task"] == CAUSAL]
    assert [entry["name"] for entry in decoders] == decoder_names(Plan(zoo_folder(), zoo_folder()))
    alike = [{**entry["settings"], "seed": 0, "keep_steps": []} for entry in decoders]
    assert alike[1:] == alike[:-1]
    assert [entry["seed"] for entry in decoders] == [0, 1, 2]
    for entry in decoders:
        assert entry["score"] < entry["baseline"] - 0.4


def test_a_reader_finds_the_answer_that_its_nearest_name_does_not() -> None:
    spec = TokenMapSpec(("zoo:qa-0",))
    result = STUDY.run(spec)
    top = result.tables["spans"].iloc[-1]
    assert top["f1"] > 0.5
    assert nearest_name(spec.question, spec.passage) != spec.answer


def test_parsing_has_intruder_dimensions_in_adapters_and_not_in_the_full_fine_tune() -> None:
    refs = ["zoo:parse-0", *(f"zoo:parse-0-lora-{rank}" for rank in RANKS)]
    counts = []
    for ref in refs:
        pair = open_pair("zoo:seed-0", ref, read_as("zoo:seed-0"), read_as(ref), ("output",))
        chosen = [
            choose_directions(delta.weight, delta.matrix, leading=10, threshold=0.5)[0]
            for delta in deltas_of(pair)
        ]
        counts.append(sum(directions.left.shape[1] for directions in chosen))
    full, *adapted = counts
    assert full <= 2
    assert min(adapted) >= 5
