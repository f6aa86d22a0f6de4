"""Every column of every table that a study exports has one line in the data dictionary."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.errors import PalimpsestError
from core.results import columns
from core.results.columns import (
    COLUMNS,
    TABLES,
    describe,
    meaning,
    read_columns,
    tip_of,
    title_of,
    title_of_table,
)
from core.results.estimates import estimate_of
from tests.cases import exhaustive
from tests.core.results.statements import contradictions, false_statements

BESIDE: dict[str, dict[str, Any]] = {
    "probe": {
        "sentences": 60,
        "epochs": 1,
        "draws": 20,
        "seeds": 1,
        "controls": 1,
        "layers": (0, 6),
        "sweep": True,
    },
    "weights": {"permutations": 100, "of": "both"},
}


ROOT = Path(columns.__file__).parents[2]
BY_PLACE = {"Tip": (0, 1), "Plane": (1, 3), "layer_plane": (1, 2), "step_chart": (1, 2)}
BY_METRIC = ("value",)  # a score, which the record of its metric names
ON_THE_PAGE = ("x", "y")  # places, of which each projection says what they are


def titled(call: ast.Call) -> Iterator[tuple[ast.expr | None, ast.expr | None]]:
    """Find the fields that a call draws, each with its title."""
    name = ast.unparse(call.func).rpartition(".")[2]
    parts = ([*each.value.elts] if isinstance(each, ast.Starred)
             and isinstance(each.value, ast.Tuple) else [each] for each in call.args)  # fmt: skip
    given = dict(enumerate(part for several in parts for part in several))
    named = {each.arg: each.value for each in call.keywords}
    field, title = BY_PLACE.get(name, (-1, -1))
    yield given.get(field), given.get(title)
    yield given.get(0) if name == "channel" else None, named.get("title")
    yield named.get("y", given.get(1)), named.get("y_title")
    yield named.get("value"), named.get("value_title")


def own_titles(file: Path) -> Iterator[str]:
    """Find titles that a module of figures writes beside a column whose record has one."""
    module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    titles = {tip_of(name).title for name in COLUMNS}
    tree = ast.parse(file.read_text(encoding="utf8"))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for field, title in titled(call):
            column = field.value if isinstance(field, ast.Constant) else ""
            column = str(column).partition(":")[0]
            text = getattr(module, title.id, "") if isinstance(title, ast.Name) else ""
            if isinstance(title, ast.Constant):
                text = str(title.value or "").strip()
            literal = isinstance(title, ast.Constant) or text not in titles
            if column in {*COLUMNS} - {*BY_METRIC, *ON_THE_PAGE} and text and literal:
                yield f"{file.name}:{call.lineno} {column}: {text}"


def undescribed(tables: dict[str, Any]) -> list[str]:
    return [
        f"{name}.{column}"
        for name, table in tables.items()
        for column in table.columns
        if not meaning(name, column)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("study", exhaustive(BESIDE, "weights"))
def test_every_column_that_no_answer_has_is_explained(study: str) -> None:
    """What came with the box is gone through beside its other tests, in
    core/commands/test_precomputed.py."""
    result = STUDIES[study].run(STUDIES[study].Spec(**BESIDE[study]))
    assert len(result.table)
    assert undescribed(result.tables) == []
    assert set(describe(result.tables)) == set(result.tables)
    assert false_statements(result.tables.items()) == []


@pytest.mark.parametrize(
    ("column", "values", "text", "so"),
    [
        ("rival_layer", [0.0, None], "the rival's layer; 0 where it has none", False),
        ("share", [0.2, 57.0], "share of nearest neighbours with the same label", False),
        ("metric", ["root"], "the score: root_accuracy (per cent)", False),
        ("metric", ["root"], "the score: root (per cent)", True),
        ("rival", ["random:zoo:a"], "position only, or an untrained model", False),
        (
            "rival",
            ["random:zoo:a", "position only"],
            "position only, or the reference of an untrained model",
            True,
        ),
        ("low", [0.1], "upper end of the 95 % band of the value", False),
        ("clear", [True], "how clear it is", False),
        ("direction", [0, 1], "number of the direction, from 1", False),
        ("similarity", [1.2], "similarity (no unit; 1 for equal spaces)", False),
    ],
)
def test_a_false_statement_is_seen(column: str, values: list[Any], text: str, so: bool) -> None:
    assert (contradictions("any", pd.DataFrame({column: values}), column, text) == []) is so


def test_a_column_may_mean_something_of_its_own_in_a_table() -> None:
    assert meaning("ranks", "rank") != meaning("scores", "rank")
    assert meaning("any", "no such column") is None
    assert all("\n" not in column.meaning for column in COLUMNS.values())


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.meaning])
def test_a_title_reads_as_words(name: str) -> None:
    table, _, column = name.rpartition(".")
    title = title_of(table, column)
    assert "_" not in title
    assert title[0].isupper() or title.startswith("p-value")
    assert len(title) <= 40  # above a column


def test_figures_take_the_titles_of_columns_from_their_records() -> None:
    studies = [*(ROOT / "core" / "studies").rglob("*.py"), *(ROOT / "extras").rglob("*.py")]
    assert len(studies) > 100
    assert [line for file in sorted(studies) for line in own_titles(file)] == []


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ('Tip("nmse", "Error", "measure")', 1),
        ('channel("nmse:Q", title="Error")', 1),
        ('heatmap(rows, value="nmse", value_title=MINE)', 1),
        ('Plane(*("steps", "nmse", "Steps", "Error"), 0.0)', 1),
        ('layer_chart(rows, "nmse", looks, y_title=MINE)', 1),
        ('layer_chart(rows, "nmse", looks, y_title=tip_of("nmse").title)', 0),
        ('layer_chart(rows, "nmse", looks, y_title=RECORDED)', 0),
        ('Tip("name", "Model")', 0),
    ],
)
def test_a_title_beside_a_record_is_seen(
    code: str, seen: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"drawn_{tmp_path.name}.py"
    head = (
        'from core.results.columns import tip_of\nMINE, RECORDED = "Mine", tip_of("nmse").title\n'
    )
    file.write_text(f"{head}draw = lambda rows, looks: {code}\n", encoding="utf8")
    assert len(list(own_titles(file))) == seen


def test_p_values_and_relative_sizes_are_written_as_such_everywhere() -> None:
    ends = ("p_value", "_p")
    tested = {name for name in COLUMNS if name.rpartition(".")[2].endswith(ends)}
    assert len(tested) > 10
    assert {(name, tip_of(name).kind) for name in tested} == {(name, "p") for name in tested}
    assert estimate_of({"corrected_p": 0.03}, "corrected_p").text == "p = .03"
    assert estimate_of({"relative_delta": 0.134}, "relative_delta").text == "13 %"


def test_every_record_is_of_a_column_that_a_table_has() -> None:
    inside = {name.rpartition(".")[2] for name, column in COLUMNS.items() if column.meaning}
    assert {name for name in COLUMNS if name.rpartition(".")[2] not in inside} == set()


def test_titles_of_tables_read_as_words() -> None:
    assert title_of_table("head_matrix") == TABLES["head_matrix"]
    assert title_of_table("new_table") == "New table"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[columns]\na = { meanings = "x" }',
            "The column a has 'meanings'; there are meaning, title, kind",
        ),
        (
            '[columns]\na = { kind = "percent" }',
            "The column a: kind is 'percent'; there are 'share'",
        ),
        ('[columns]\na = { interval = "mine" }', "The column a: interval is 'mine'; there are ''"),
    ],
)
def test_a_record_with_a_slip_is_refused(text: str, words: str) -> None:
    with pytest.raises(PalimpsestError, match=words):
        read_columns(text)


def test_a_column_has_one_record() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        read_columns("[columns]\na = {}\na = {}")


def test_a_column_has_one_record_and_no_record_says_what_another_does() -> None:
    file = Path(columns.__file__).with_suffix(".toml")
    records = tomllib.loads(file.read_text(encoding="utf8"))["columns"]
    names = [name for together in records for name in together.split()]
    assert len(names) == len(set(names)) == len(COLUMNS)
    said = [tuple(sorted(record.items())) for record in records.values() if record.get("meaning")]
    assert [record for record, times in Counter(said).items() if times > 1] == []
