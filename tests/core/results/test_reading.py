"""Results are read again as they were written; what is no result, or a damaged one, is one
sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.commands.precomputed import ON_REQUEST
from core.errors import SpecError
from core.results import load
from core.results.estimates import Estimate
from core.results.export import NUMBERS, Result, write_result
from core.results.folder import RECORD
from core.results.papers.reference import cite
from core.results.reading import ReadError
from core.runs.frames import packed, unpacked
from tests import ROOT
from tests.core.shipped import walked


def assert_equal(read: Result, written: Result) -> None:
    """Every field of a `Result`, tables and arrays with their types, to the last bit."""
    for field in fields(Result):
        if field.name == "statements":  # as records, in which a missing interval equals another
            records = [
                [each.as_record() for each in result.statements] for result in (read, written)
            ]
            assert records[0] == records[1]
        elif field.name not in ("tables", "arrays"):
            assert getattr(read, field.name) == getattr(written, field.name), field.name
    assert list(read.tables) == list(written.tables)
    for name, table in written.tables.items():
        pd.testing.assert_frame_equal(read.tables[name], table, check_exact=True)
    assert list(read.arrays) == list(written.arrays)
    for name, array in written.arrays.items():
        assert read.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(read.arrays[name], array)


@pytest.fixture
def result() -> Result:
    table = pd.DataFrame(
        {
            "model": ["a", "=b"],
            "similarity": [1 / 3, float("nan")],
            "low": [0.3, np.nan],
            "high": [0.4, np.nan],
        }
    )
    return Result(
        study="rsa",
        spec={"base": "zoo:seed-0", "layers": [0, 1], "grid": None},
        headline="No more than was measured.",
        tables={"similarity": table, "empty": table.head(0)},
        arrays={"k": np.array(2), "a name": np.arange(6, dtype=np.float32).reshape(2, 3)},
        notices=("Mind the null.",),
        failures={"c": "not found"},
        provenance={"versions": {"python": "3"}},
        methods="We did it.",
        citations=cite(["merchant2020"]),
        caution="With care.",
    )


@pytest.mark.slow
def test_every_study_in_the_box_comes_back_as_it_was_written(tmp_path: Path) -> None:
    seen = set()
    for number, written in enumerate(walked().results.values()):
        if written.study in STUDIES:
            write_result(written, {}, tmp_path / str(number))
            assert_equal(load(tmp_path / str(number)), written)
            seen.add(written.study)
    assert seen == set(STUDIES) - {*ON_REQUEST}


def test_a_result_comes_back_with_its_estimates(result: Result, tmp_path: Path) -> None:
    write_result(result, {}, tmp_path / "out")
    read = load(tmp_path / "out")
    assert_equal(read, result)
    assert read.estimates("similarity")[0] == Estimate(1 / 3, 0.3, 0.4)
    assert read.estimates("similarity", "similarity")[1].text == "n/a"
    with pytest.raises(SpecError, match="no column 'other'"):
        read.estimates("other")
    with pytest.raises(SpecError, match="in a table 'grid'"):
        read.estimates("similarity", "grid")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series(["a", None, ""], dtype="str"),
        pd.Series(["a", None, 1.5], dtype=object),
        pd.Series([True, False, True]),
        pd.Series([1, 2, 3], dtype=np.int8),
        pd.Series([0.1, np.inf, np.nan], dtype=np.float32),
        pd.Series([1.0, 2.0, 3.0], index=[5, 7, 9]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_table_keeps_the_types_of_its_columns(column: pd.Series) -> None:
    table = pd.DataFrame({"column": column})
    pd.testing.assert_frame_equal(unpacked(packed(table)), table, check_exact=True)


def damaged(result: Result, out: Path) -> Iterator[str]:
    """Damages a written result in one way after the other, and names each."""
    write_result(result, {}, out)
    record, numbers = (out / RECORD).read_bytes(), (out / NUMBERS).read_bytes()
    spec = json.loads(record)
    for name, contents in {
        "cut": (record, numbers[:-9]),
        "foreign numbers": (record, b"x" * 40),
        "empty": (b"", numbers),
        "a list": (b"[]", numbers),
        "a field less": (
            json.dumps({key: spec[key] for key in spec if key != "references"}).encode(),
            numbers,
        ),
        "no text": (json.dumps(spec | {"headline": 1}).encode(), numbers),
        "not JSON": (record[:50], numbers),
        "nested": (b"[" * 100_000, numbers),
    }.items():
        for file, content in zip((RECORD, NUMBERS), contents, strict=True):
            (out / file).write_bytes(content)
        yield name


def test_a_record_whose_headline_begins_with_the_caution_is_read(
    result: Result, tmp_path: Path
) -> None:
    """Earlier versions wrote both into one sentence."""
    write_result(result, {}, tmp_path / "out")
    path = tmp_path / "out" / RECORD
    record = json.loads(path.read_text(encoding="utf8"))
    path.write_text(json.dumps(record | {"headline": result.cautioned()}), encoding="utf8")
    assert result.cautioned() == "With care. No more than was measured."
    assert load(tmp_path / "out").headline == result.headline


def test_a_damaged_folder_is_one_sentence(result: Result, tmp_path: Path) -> None:
    said = {}
    for name in damaged(result, tmp_path / "out"):
        with pytest.raises(ReadError) as caught:
            load(tmp_path / "out")
        said[name] = str(caught.value)
    assert len(said) == 8
    assert [
        text for text in said.values() if not text.endswith("run the study again with --out.")
    ] == []


def test_a_foreign_folder_is_one_sentence(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"result\.json"):
        load(tmp_path / "nowhere")
    write_result(result, {}, tmp_path / "out")
    (tmp_path / "out" / NUMBERS).unlink()
    with pytest.raises(ReadError, match=r"result\.safetensors"):
        load(tmp_path / "out")


def test_another_results_numbers_are_not_taken(result: Result, tmp_path: Path) -> None:
    write_result(result, {}, tmp_path / "one")
    write_result(replace(result, tables={"similarity": result.table.head(1)}), {}, tmp_path / "two")
    (tmp_path / "two" / NUMBERS).replace(tmp_path / "one" / NUMBERS)
    with pytest.raises(ReadError, match="is damaged"):
        load(tmp_path / "one")


@pytest.mark.slow
def test_naming_the_package_imports_nothing() -> None:
    code = (
        "import sys, core.results; assert 'pandas' not in sys.modules; core.results.load; "
        "core.results.nothing"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "has no attribute 'nothing'" in done.stderr
