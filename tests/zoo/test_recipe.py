"""The whole recipe on a tiny budget, killed and run again; every bad input is one sentence and
status 2."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import load_file

from core.commands.zoo import find_problems
from core.models.zoo import read_adapters, read_manifest
from tests.core.test_house import ROOT
from tests.zoo.made_up import SENTENCES, write_task, write_treebank
from zoo.recipe import __main__ as recipe
from zoo.recipe.countdown import Countdown
from zoo.recipe.pipeline import Job, _run_all, plan_jobs
from zoo.recipe.plan import SNAPSHOTS, Plan, finetune_runs
from zoo.recipe.publishing import pretraining
from zoo.recipe.quick import write_quick_inputs
from zoo.recipe.tasks import BOX_TASKS
from zoo.recipe.tune import development_split, parse_settings

COMMAND = [sys.executable, "-m", "zoo.recipe"]
ALONE = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def test_the_box_is_five_seeds_and_their_fine_tunes(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path)
    runs = {run.name: run for run in finetune_runs(plan)}
    assert len(runs) == len(finetune_runs(plan)) == 28
    assert {name for name in runs if "-from-" in name} == {
        f"sentiment-0-from-seed-{seed}" for seed in (1, 2, 3, 4)
    }
    assert all(
        (runs[f"{task}-{run}"].task, runs[f"{task}-{run}"].run) == (task, run)
        for task in BOX_TASKS
        for run in range(3)
    )
    assert list(runs)[: len(BOX_TASKS)] == [
        f"{task}-0" for task in BOX_TASKS
    ]  # one of each task comes first
    truths = {
        run.name: (run.task, run.base_seed, run.frozen, run.dose)
        for run in runs.values()
        if run.frozen or run.dose != 1
    }
    assert truths == {
        **{
            f"{task}-frozen-{layers}": (task, 0, layers, 1.0)
            for task in ("parse", "sentiment")
            for layers in (2, 4)
        },
        "sentiment-fast": ("sentiment", 0, 0, 3.0),
        "parse-slow": ("parse", 0, 0, 1 / 3),
    }
    settings = pretraining(plan, 3)
    assert (settings.seed, settings.layers, settings.d_model, settings.heads) == (3, 6, 128, 4)
    assert settings.tokens >= 25_000_000
    assert pretraining(plan, 0).keep_steps == SNAPSHOTS
    assert 0 in SNAPSHOTS


def test_make_zoo_is_two_at_a_time_with_all_steps_of_a_seed_and_a_quick_one_is_not() -> None:
    asked = recipe.plan_of(recipe.build_parser().parse_args(["--text", "x"]))
    assert (asked.jobs, asked.snapshots, asked.seeds, asked.runs) == (2, SNAPSHOTS, 5, 3)
    quick = recipe.plan_of(recipe.build_parser().parse_args(["--text", "x", "--quick"]))
    assert (quick.jobs, quick.snapshots, quick.seeds, quick.runs) == (1, (), 2, 1)


def test_seed_0_is_trained_a_second_time_with_other_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: dict[str, tuple[object, bool]] = {}

    def train(settings: object, windows: None, work: Path, compiled: bool, report: object) -> None:
        work.mkdir()
        (work / "checkpoint.safetensors").touch()
        trained[work.name] = settings, compiled

    monkeypatch.setattr("zoo.recipe.pretrain.pretrain", train)
    monkeypatch.setattr("zoo.recipe.pipeline.read_windows", lambda plan, part: None)
    plan = Plan(tmp_path, tmp_path, seeds=1)
    for job in plan_jobs(plan)["pretrain"]:
        assert job.function(*job.arguments, print)
    (first, compiled), (second, compiled_again) = trained["seed-0"], trained["seed-0-again"]
    assert first == second
    assert compiled is not compiled_again
    assert len(plan_jobs(replace(plan, quick=True))["pretrain"]) == 1


def meet(folder: Path, own: str, other: str) -> bool:
    """A job that ends only when its counterpart is at work too."""
    (folder / own).touch()
    until = time.monotonic() + 60
    while not (folder / other).exists() and time.monotonic() < until:
        time.sleep(0.01)
    return (folder / other).exists()


@pytest.mark.exhaustive
def test_two_jobs_run_at_once_and_what_is_left_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A new process runs __main__ again, and a page's test leaves its page there.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    jobs = [Job(meet, (tmp_path, "a", "b"), 60.0), Job(meet, (tmp_path, "b", "a"), 60.0)]
    lines: list[str] = []
    countdown = Countdown([60.0, 60.0], at_once=2)
    _run_all(Plan(tmp_path, tmp_path, jobs=2), jobs, countdown, lines.append)
    assert [line[:11] for line in lines] == ["1 of 2 done", "2 of 2 done"]
    assert lines[-1].endswith("about 0 min left")
    assert countdown._foreseen == 120.0  # both say that they met


def test_the_estimate_learns_the_machines_speed_from_what_was_done() -> None:
    countdown = Countdown([600.0, 600.0, 120.0, 120.0], at_once=2)
    assert str(countdown) == "0 of 4 done, about 12 min left"
    countdown.finish(600.0, None)  # there already: nothing is learned
    assert str(countdown) == "1 of 4 done, about 7 min left"
    countdown.finish(600.0, 1200.0)  # half as fast as foreseen
    assert str(countdown) == "2 of 4 done, about 4 min left"
    countdown.finish(120.0, 240.0)
    countdown.finish(120.0, 240.0)
    assert str(countdown) == "4 of 4 done, about 0 min left"


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums in the order of a process with one thread, so that its bits can be compared with
    ours."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_quick_box_from_the_demo_alone_is_made_whole_and_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = {**ALONE, "QUICK": "1"}
    command = [*COMMAND, "--out", str(tmp_path / "box"), "--snapshots", "20"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    first = subprocess.run(
        command, cwd=ROOT, env=quick, capture_output=True, text=True, check=False
    )
    assert first.returncode == 0, first.stderr
    assert (
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 90
    )  # of its own, however busy the machine
    names = [entry["name"] for entry in read_manifest(tmp_path / "box")]
    assert names == [
        "seed-0",
        "seed-1",
        "seed-0@step-20",
        "pos-0",
        "pos-0-from-seed-1",
        "parse-0",
        "decoder-0",
        "genre-0",
    ]
    adapters = read_adapters(tmp_path / "box")
    assert [entry["name"] for entry in adapters] == ["parse-0-lora-1", "qa-0", "review-0"]
    entries = [*read_manifest(tmp_path / "box"), *adapters]
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path / "box"))
    assert find_problems(entries) == []
    # Of ten sentences that it did not learn from; 32 after ten of its eighty steps.
    assert json.loads((tmp_path / "box/parser/scores.json").read_text())["uas"] > 50
    assert (tmp_path / "box/models/seed-0/README.md").is_file()
    times = {
        path: path.stat().st_mtime_ns
        for path in (tmp_path / "box/models").rglob("model.safetensors")
    }
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("QUICK", "1")
    assert recipe.main(command[len(COMMAND) :]) == 0
    assert "already there" in capsys.readouterr().out
    assert times == {path: path.stat().st_mtime_ns for path in times}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_killed_pretraining_goes_on_and_ends_the_same(tmp_path: Path, one_thread: None) -> None:
    (tmp_path / "text.txt").write_text("\n".join(SENTENCES) + "\n")

    def options(folder: str) -> list[str]:
        given = ["--quick", "--text", str(tmp_path / "text.txt"), "--seeds", "1", "--steps", "400"]
        return ["--out", str(tmp_path / folder), *given, "--only", "text", "pretrain"]

    assert recipe.main(options("whole")[:-1]) == 2  # the text alone: there is no finished model yet
    shutil.copytree(
        tmp_path / "whole", tmp_path / "killed"
    )  # one tokenizer: its library breaks ties at random
    checkpoint = tmp_path / "killed/work/seed-0/checkpoint.safetensors"
    process = subprocess.Popen(
        [*COMMAND, *options("killed")], cwd=ROOT, env=ALONE, stdout=subprocess.DEVNULL
    )
    while not checkpoint.is_file() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL  # it was still at work
    for folder in ("killed", "whole"):
        assert recipe.main(options(folder)) == 0
    weights = [
        (tmp_path / name / "models/seed-0/model.safetensors").read_bytes()
        for name in ("killed", "whole")
    ]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "either --text FILE or --dataset NAME"),
        (["--text", "nowhere.txt"], "No text file at nowhere.txt"),
        (["--seeds", "0", "--text", "nowhere.txt"], "at least 1"),
        (["--base", "zoo:seed-0"], "needs --base REF, --task NAME and --out FOLDER"),
        (["--only", "finetune"], "No weights (*.safetensors)"),
        (["--only", "pretrain"], "run the text stage again"),
        (["--only", "manifest"], "no finished model"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.delenv("QUICK", raising=False)
    folders = [
        "--jobs",
        "1",
        "--out",
        str(tmp_path / "box"),
    ]  # processes of their own would import torch again
    data = [
        "--data",
        str(write_task(tmp_path, "nli")),
        "--treebank",
        str(write_treebank(tmp_path / "trees")),
    ]
    given = arguments if "--base" in arguments else [*arguments, *folders, *data]
    assert recipe.main(given) == 2
    error = capsys.readouterr().err
    assert error.startswith("palimpsest: ")
    assert error.count("\n") == 1
    assert said in error


def test_an_unknown_data_set_is_one_sentence(tmp_path: Path, monkeypatch, capsys) -> None:
    import datasets

    def fail(*names: object, **options: object) -> None:
        raise datasets.exceptions.DatasetNotFoundError(
            "Dataset 'no/such' doesn't exist on the Hub or cannot be accessed."
        )

    monkeypatch.setattr(datasets, "load_dataset", fail)
    assert recipe.main(["--dataset", "no/such", "--out", str(tmp_path)]) == 2
    assert "The data set no/such could not be read" in capsys.readouterr().err


def test_a_stopped_run_says_how_to_go_on(tmp_path: Path, monkeypatch, capsys) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recipe, "make_zoo", stop)
    assert recipe.main(["--text", "x", "--out", str(tmp_path)]) == 130
    assert "last checkpoint" in capsys.readouterr().err


def test_seeds_of_one_text_are_not_mixed_with_another(tmp_path: Path, capsys) -> None:
    for name, text in (("a", SENTENCES), ("b", SENTENCES[::-1])):
        (tmp_path / f"{name}.txt").write_text("\n".join(text) + "\n")
    common = [
        "--quick",
        "--out",
        str(tmp_path / "box"),
        "--seeds",
        "1",
        "--steps",
        "2",
        "--only",
        "text",
        "pretrain",
    ]
    assert recipe.main(["--text", str(tmp_path / "a.txt"), *common]) == 0
    assert recipe.main(["--text", str(tmp_path / "b.txt"), *common]) == 2
    assert "trained on another text" in capsys.readouterr().err
    (tmp_path / "box/work/text.json").write_text("{half")
    assert recipe.main(["--text", str(tmp_path / "a.txt"), *common]) == 2
    assert "delete it to encode the text again" in capsys.readouterr().err


def test_one_model_is_fine_tuned_from_any_base(tiny_base: Path, tmp_path: Path) -> None:
    data = write_task(tmp_path / "tasks")
    given = [
        "--base",
        f"path:{tiny_base}",
        "--task",
        "sentiment",
        "--data",
        str(data),
        "--limit",
        "8",
        "--steps",
        "3",
    ]
    assert recipe.main([*given, "--out", str(tmp_path / "tuned")]) == 0
    assert (tmp_path / "tuned/model.safetensors").is_file()
    assert json.loads((tmp_path / "tuned/training.json").read_text())["steps"] == 3


@pytest.mark.parametrize(
    ("named", "base"),
    [([], "{base}"), (["--named", "hub:group/model"], "group/model"),
     (["--named", "zoo:seed-0"], "zoo/models/seed-0")],
)  # fmt: skip
def test_an_adapter_of_a_folder_names_its_base_as_others_find_it(
    named: list[str], base: str, tiny_base: Path, tmp_path: Path
) -> None:
    data = write_task(tmp_path / "tasks")
    given = [
        *("--base", f"path:{tiny_base}", "--task", "sentiment", "--data", str(data)),
        *("--limit", "8", "--steps", "3", "--rank", "2", "--rate", "0.002", "--seed", "4"),
    ]
    assert recipe.main([*given, *named, "--out", str(tmp_path / "tuned")]) == 0
    config = json.loads((tmp_path / "tuned/adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == base.format(base=tiny_base)
    record = json.loads((tmp_path / "tuned/training.json").read_text())
    assert record["base"] == (named[-1] if named else f"path:{tiny_base}")
    settings = {name: record["settings"][name] for name in ("rank", "alpha", "learning_rate")}
    assert settings == {"rank": 2, "alpha": 4.0, "learning_rate": 0.002}
    assert (record["settings"]["seed"], record["settings"]["steps"]) == (4, 3)


def test_a_head_is_trained_alone_where_all_layers_are_frozen(
    tiny_base: Path, tmp_path: Path
) -> None:
    data = write_task(tmp_path / "tasks")
    given = ["--base", f"path:{tiny_base}", "--task", "sentiment", "--data", str(data)]
    out = tmp_path / "tuned"
    assert recipe.main([*given, "--steps", "3", "--frozen", "2", "--out", str(out)]) == 0
    base, tuned = (load_file(folder / "model.safetensors") for folder in (tiny_base, out))
    body = [name for name in base if name.startswith("roformer.")]
    assert body
    assert all(torch.equal(base[name], tuned[name]) for name in body)


def test_quick_inputs_that_are_not_there(tmp_path: Path) -> None:
    from core.errors import RecipeError

    with pytest.raises(RecipeError, match="git checkout -- zoo/corpus"):
        write_quick_inputs(tmp_path / "demo.txt", tmp_path / "gold.conllu", tmp_path)


def test_settings_are_chosen_on_training_data_alone(tmp_path: Path) -> None:
    from core.errors import RecipeError
    from zoo.recipe.settings import Finetuning
    from zoo.recipe.tasks import read_task

    task = read_task("sentiment", write_task(tmp_path), None)
    split = development_split(task)
    assert len(split.train) + len(split.test) == len(task.train)
    settings = parse_settings("epochs=2,batch=8,learning_rate=1e-3,steps=9", Finetuning())
    assert (settings.epochs, settings.batch, settings.learning_rate, settings.steps) == (
        2.0,
        8,
        1e-3,
        9,
    )
    with pytest.raises(RecipeError, match="there are seed, steps, epochs"):
        parse_settings("speed=2", Finetuning())
