"""`python -m core weights`: the files it writes and their columns, labels from a table, errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from core.commands import main as cli
from tests.core.small_zoo import write_zoo


@pytest.fixture(scope="module")
def zoo_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_zoo(tmp_path_factory.mktemp("zoo"))


@pytest.fixture(autouse=True)
def box(zoo_on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(zoo_on_disk))


def weights(out: Path, *more: str) -> int:
    flags = {"--base": "zoo:seed-0", "--models": "zoo:*-*", "--rank": "3", "--permutations": "200"}
    command = ["weights", "--out", str(out), *more]
    for flag, value in flags.items():
        command += [flag, value] if flag not in more else []
    return cli.main(command)


def test_the_files_and_columns_that_were_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weights(tmp_path, "--vector", "projector") == 0
    said = capsys.readouterr()
    assert said.out.startswith(json.loads((tmp_path / "result.json").read_text())["headline"])
    assert "Left out" in said.err
    assert re.search(r"\b0 of \d+ tasks were stored", said.err)
    record = json.loads((tmp_path / "result.json").read_text(encoding="utf8"))
    assert record["spec"]["vector"] == "projector"
    assert list(pd.read_csv(tmp_path / "neighbours.csv")) == ["k", "share", "chance", "p_value"]
    ranks = pd.read_csv(tmp_path / "ranks.csv")
    assert list(ranks)[:7] == [
        "model",
        "family",
        "layer",
        "threshold",
        "rank",
        "null_rank",
        "stable_rank",
    ]
    assert len(pd.read_csv(tmp_path / "distances.csv")) == 36
    assert b"<svg" in (tmp_path / "figure.svg").read_bytes()
    assert weights(tmp_path / "again") == 0
    assert re.search(r"\b(\d+) of \1 tasks were stored", capsys.readouterr().err)


@pytest.mark.exhaustive
def test_labels_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text(
        "model,kind,other\nnli-0,a,x\nnli-1,a,x\npos-0,b,y\npos-1,b,y\n", encoding="utf8"
    )
    assert weights(tmp_path / "out", "--labels", str(table)) == 0
    assert set(pd.read_csv(tmp_path / "out" / "predictions.csv")["label"]) == {"a", "b"}
    assert weights(tmp_path / "out", "--labels", str(table), "--column", "other") == 0
    assert set(pd.read_csv(tmp_path / "out" / "predictions.csv")["label"]) == {"x", "y"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--labels", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["--tree", "3"], "zoo:seed-0"),
        (["--families", "gate"], "no family 'gate'"),
        (["--threshold", "2"], "threshold takes a number from 0.5 to 0.9999, not 2"),
        (["--rank", "8.5"], "rank takes a whole number from 1 to 64, not 8.5"),
        (
            ["--neighbours", "50"],
            "9 models have a label, so each has 8 others",
        ),
        (["--base", "nonsense"], "'nonsense' is not a model reference"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], reason: str
) -> None:
    assert weights(tmp_path, *more) == 2
    assert reason in capsys.readouterr().err


def test_an_unknown_column_lists_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("model,kind\nnli-0,a\n", encoding="utf8")
    assert weights(tmp_path, "--labels", str(table), "--column", "colour") == 2
    assert "kind" in capsys.readouterr().err
