"""A zip of a result: every table under its raw names, dictionary, BibTeX, pictures; bounded in size
and time."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Mapping

import pandas as pd
import pytest

from core.results import bundle
from core.results.bundle import LEFT_OUT, zip_result
from core.results.drawing.vega import Chart
from core.results.export import Result, table_csv
from core.results.papers.reference import cite

RESULT = Result(
    "rsa",
    {"base": "zoo:seed-0"},
    "One model differs.",
    {
        "similarity": pd.DataFrame(
            {"model": ["zoo:parse-0"], "layer": [1], "similarity": [0.123456789012345]}
        ),
        "sizes": pd.DataFrame({"model": ["zoo:parse-0"], "relative_change": [0.5]}),
    },
    citations=cite(("hewitt2019control",)),
)


def figures() -> Mapping[str, Chart]:
    chart = Chart(pd.DataFrame({"x": [1, 2], "y": [1, 2]})).mark_point().encode(x="x:Q", y="y:Q")
    return {"one": chart, "two": chart}


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_everything_of_a_result_is_in_its_zip() -> None:
    said: list[tuple[float, str]] = []
    files = unpacked(
        zip_result(
            RESULT,
            figures,
            extra={"heads.conllu": lambda: b"1\ta"},
            say=lambda *told: said.append(told),
        )
    )
    assert files["table.csv"] == table_csv(RESULT.table)
    assert files["sizes.csv"] == table_csv(RESULT.tables["sizes"])
    assert json.loads(files["result.json"])["spec"] == RESULT.spec
    assert files["references.bib"].count(b"@") == 2  # the paper and Palimpsest itself
    assert files["heads.conllu"] == b"1\ta"
    assert {
        name: content[:4] for name, content in files.items() if name.startswith("figures/")
    } == {
        "figures/one.svg": b"<svg",
        "figures/one.png": b"\x89PNG",
        "figures/two.svg": b"<svg",
        "figures/two.png": b"\x89PNG",
    }
    dictionary = pd.read_csv(io.BytesIO(files["dictionary.csv"]))
    named = {(row.file, row.column) for row in dictionary.itertuples()}
    assert {("table.csv", "similarity"), ("sizes.csv", "relative_change")} <= named
    assert dictionary["meaning"].str.len().min() > 3
    shares = [share for share, _ in said]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert "Figure 2 of 2" in [what for _, what in said]


def test_a_clock_that_begins_in_1970_makes_a_zip_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle.time, "localtime", lambda *_: time.gmtime(0))
    monkeypatch.setattr(bundle, "MOST_BYTES", 1000)
    assert {"table.csv", LEFT_OUT} <= unpacked(zip_result(RESULT, figures)).keys()


def test_what_would_be_too_large_or_take_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 10_000)
    files = unpacked(
        zip_result(
            RESULT, dict, extra={"large.bin": lambda: bytes(20_000), "small.bin": lambda: b"1"}
        )
    )
    assert "large.bin" not in files
    assert "small.bin" in files
    assert b"large.bin" in files[LEFT_OUT]
    times = iter([0.0, 1.0, 2.0, 1e6, 1e6])
    monkeypatch.setattr(bundle, "MOST_BYTES", 10_000_000)
    files = unpacked(zip_result(RESULT, figures, clock=lambda: next(times)))
    assert {"figures/one.svg", "figures/one.png"} <= set(files)
    assert b"figures/two.svg" in files[LEFT_OUT]
    assert not any("two" in name for name in files)
