"""Exports: what is written is what was computed, text is never markup, a full or forbidden disk is
a sentence."""

from __future__ import annotations

import csv
import errno
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import DrawingError
from core.results.bundle import zip_result
from core.results.drawing import files
from core.results.drawing.vega import Chart
from core.results.export import (
    DrawingWarning,
    Result,
    chart_png,
    chart_svg,
    result_json,
    table_csv,
    table_parquet,
    write_result,
)
from core.results.folder import ExportError, try_folder, write_folder
from core.results.papers.reference import cite
from core.results.report import report_html
from core.runs.process.remembered import forget_all


@pytest.fixture
def result() -> Result:
    table = pd.DataFrame(
        {"model": ["a", "b"], "layer": [0, 1], "similarity": [1 / 3, float("nan")]}
    )
    return Result(
        study="rsa",
        spec={"base": "zoo:seed-0"},
        headline="<script>alert(1)</script> & more",
        tables={"main": table, "yardsticks": table.head(1)},
        notices=("Mind the <b>null</b>.",),
        failures={"c": "not found"},
        methods="We did it.",
        citations=cite(["merchant2020"]),
    )


@pytest.fixture
def chart() -> Chart:
    data = pd.DataFrame({"x": [0, 1], "y": [1.0, 0.5]})
    return Chart(data, title="Similarity", width="container").mark_line().encode(x="x:Q", y="y:Q")


def test_tables_come_back_as_they_went(result: Result) -> None:
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(table_csv(result.table))), result.table)
    pd.testing.assert_frame_equal(
        pd.read_parquet(io.BytesIO(table_parquet(result.table))), result.table
    )


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_no_cell_of_a_csv_is_a_formula_and_numbers_stay_numbers(kind: str) -> None:
    words = [
        "=cmd|' /C calc'!A0",
        "+1+cmd",
        "-",
        "--",
        "@SUM(A1)",
        "\tx",
        "\r=1",
        "fine",
        "a=b",
        "-1.5e-3",
        "+7",
        "'quoted",
    ]
    table = pd.DataFrame(
        {"word": pd.Series(words).astype(kind), "=x": np.linspace(-1, 1, 12), "n": range(-6, 6)}
    )
    before = table.copy()
    rows = list(csv.reader(io.StringIO(table_csv(table).decode("utf8"), newline="")))
    assert rows[0] == ["word", "'=x", "n"]
    assert [row[0] for row in rows[1:]] == [
        *(
            "'=cmd|' /C calc'!A0",
            "'+1+cmd",
            "'-",
            "'--",
            "'@SUM(A1)",
            "'\tx",
            "'\n=1",
            "fine",
            "a=b",
        ),
        *("-1.5e-3", "+7", "'quoted"),
    ]
    assert [float(row[1]) for row in rows[1:]] == table["=x"].tolist()
    assert [int(row[2]) for row in rows[1:]] == list(range(-6, 6))
    pd.testing.assert_frame_equal(table, before)


def test_json_holds_spec_tables_and_null_for_nan(result: Result) -> None:
    record = json.loads(result_json(result))
    assert record["spec"] == {"base": "zoo:seed-0"}
    assert record["tables"]["main"][0]["similarity"] == pytest.approx(1 / 3)
    assert record["tables"]["main"][1]["similarity"] is None


def test_figures_are_drawn_without_a_browser(chart: Chart) -> None:
    assert b"Similarity" in chart_svg(chart)
    assert chart_png(chart).startswith(b"\x89PNG")


def test_write_result_names_the_main_table_and_figure(
    result: Result, chart: Chart, tmp_path: Path
) -> None:
    written = write_result(result, {"curves": chart, "heatmap": chart}, tmp_path / "deep" / "out")
    names = [path.name for path in written]
    assert names == [
        "result.json",
        "result.safetensors",
        "table.csv",
        "yardsticks.csv",
        "figure.svg",
        "heatmap.svg",
    ]
    assert all(path.stat().st_size for path in written)


def test_where_nothing_can_be_drawn_the_numbers_are_written_and_that_is_said(
    result: Result, chart: Chart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []

    def look(form: str, spec: str, **options: float) -> bytes:
        seen.append({path.name for path in (tmp_path / "out").iterdir()})
        raise DrawingError("The figures could not be drawn, because there is no engine.")

    monkeypatch.setattr(files, "draw", look)
    forget_all()
    with pytest.warns(DrawingWarning, match="there is no engine"):
        written = write_result(result, {"curves": chart}, tmp_path / "out")
    names = {path.name for path in written}
    assert names == {"result.json", "result.safetensors", "table.csv", "yardsticks.csv"}
    assert seen == [names], "tables are written before figures are drawn"
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    assert set(record["files"]) == names - {"result.json"}
    page = report_html(result, {"curves": chart}).decode()
    assert "there is no engine" in page
    assert "not found" in page
    with zipfile.ZipFile(io.BytesIO(zip_result(result, lambda: {"curves": chart}))) as packed:
        assert "table.csv" in packed.namelist()
        assert "there is no engine" in packed.read("left-out.txt").decode()


@pytest.mark.parametrize("name", ["new", "old", "deep/new", "a" * 250])
def test_a_folder_that_can_be_written_is_tried_and_left_as_it_is(name: str, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    before = sorted(tmp_path.rglob("*"))
    try_folder(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before
    write_folder(tmp_path / name, {"a.csv": b"1"})
    assert (tmp_path / name / "a.csv").read_bytes() == b"1"


@pytest.mark.parametrize("name", ["file", "file/below", "a" * 300, "a" * 300 + "/b"])
def test_a_folder_that_cannot_be_written_is_said(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for write in (try_folder, lambda out: write_folder(out, {"a.csv": b"1"})):
        with pytest.raises(ExportError, match=r"could not be written to .* Choose another folder"):
            write(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_new_folder_comes_whole_and_an_old_one_never_tells_of_half_a_result(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a reader sees after each step: either no result.json, or one with all its tables."""
    steps: list[str] = []

    def whole(out: Path) -> None:
        names = {path.name for path in out.iterdir()} if out.is_dir() else set()
        if "result.json" in names:
            record = json.loads((out / "result.json").read_bytes())
            files = ["table.csv", *(f"{name}.csv" for name in list(record["tables"])[1:])]
            rows = len(next(iter(record["tables"].values())))
            assert set(files) <= names
            assert (out / "table.csv").read_text().count("\n") == rows + 1, (
                "the table is that of the JSON"
            )
        steps.append(" ".join(sorted(names)))

    out = tmp_path / "out"
    for method in ("write_bytes", "rename", "replace", "unlink", "mkdir"):
        original = getattr(Path, method)
        watched = lambda path, *given, _do=original, **named: (  # noqa: E731
            _do(path, *given, **named),
            whole(out),
        )[0]
        monkeypatch.setattr(Path, method, watched)
    write_result(result, {}, out)
    assert set(steps) == {"", "result.json result.safetensors table.csv yardsticks.csv"}
    (out / "notes.txt").write_text("mine")
    longer = pd.concat([result.table, result.table])
    write_result(replace(result, tables={"main": longer, "yardsticks": longer}), {}, out)
    assert sorted(path.name for path in out.iterdir()) == [
        "notes.txt",
        "result.json",
        "result.safetensors",
        "table.csv",
        "yardsticks.csv",
    ]
    assert len(pd.read_csv(out / "table.csv")) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_files_of_an_earlier_result_go_and_those_of_others_stay(
    result: Result, chart: Chart, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    write_result(result, {"one": chart, "two": chart}, out, {"more.txt": b"more"})
    assert {"yardsticks.csv", "two.svg", "more.txt"} <= {file.name for file in out.iterdir()}
    (out / "mine.csv").write_text("kept")
    written = write_result(replace(result, tables={"main": result.table}), {"one": chart}, out)
    assert {file.name for file in out.iterdir()} == {"mine.csv", *(file.name for file in written)}


@pytest.mark.parametrize("files", [["../mine.csv"], ["a/mine.csv"], [3], "mine.csv", None])
def test_a_record_that_names_other_places_removes_nothing(
    files: object, result: Result, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    write_result(result, {}, out)
    record = json.loads((out / "result.json").read_text(encoding="utf8"))
    (out / "result.json").write_text(json.dumps(record | {"files": files}), encoding="utf8")
    (out / "a").mkdir()
    for mine in (tmp_path / "mine.csv", out / "mine.csv", out / "a" / "mine.csv"):
        mine.write_text("kept")
    write_result(result, {}, out)
    assert (tmp_path / "mine.csv").exists()
    assert (out / "a" / "mine.csv").exists()
    assert (out / "mine.csv").exists()


@pytest.mark.parametrize("there", [False, True])
def test_a_disk_that_is_full_halfway_leaves_what_was_there(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    out = tmp_path / "out"
    if there:
        write_result(result, {}, out)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name == "yardsticks.csv":
            write(path, content[:5])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ExportError, match="No space left"):
        write_result(replace(result, headline="another"), {}, out)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert out.exists() == there


def test_report_is_one_file_and_escapes_every_text(result: Result, chart: Chart) -> None:
    page = report_html(result, {"curves": chart}).decode()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "Mind the &lt;b&gt;null" in page
    assert "data:image/svg+xml;base64," in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_report_begins_with_finding_figure_rivals_and_one_caveat(
    result: Result, chart: Chart
) -> None:
    told = replace(result, headline="It <b>was</b> found. " + "A rival finds less. " * 20)
    caveats = {"Maps mislead.": "Distances do not.", "Bands are narrow.": "Use more text."}
    figures = {"curves": chart, "more": chart}
    page = report_html(told, figures, title="Weights", caveats=caveats).decode()
    body = page.partition("<body>")[2]
    order = (
        "<h1>Weights",
        "found.",
        "<figure",
        "A rival finds less.",
        "Maps mislead.",
        "Figure 2.",
    )
    places = [body.index(part) for part in order]
    assert places == sorted(places)
    assert body.index("Bands are narrow.") > body.index("<h2>")
    assert all(body.count(text) == 1 for text in ("Maps mislead.", "Figure 1.", "Figure 2."))
    head = page.partition("<body>")[0]
    assert '<meta property="og:title" content="Weights">' in head
    assert '<meta property="og:description" content="It &lt;b&gt;was&lt;/b&gt; found.">' in head
    bare = report_html(result, {}).decode()
    assert "<figure" not in bare
    assert "class=caveat" not in bare


def test_a_folder_that_cannot_be_written_is_one_sentence(result: Result, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ExportError, match="could not be written"):
        write_result(result, {}, tmp_path / "file" / "out")
