"""The precomputed results: found where the store has none, never written, damaged or missing ones
computed again."""

from __future__ import annotations

import zlib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from core.runs.encoding import byte_planes
from core.runs.precomputed import Precomputed, default_precomputed, write_precomputed
from core.runs.runner import Progress, Task, run
from core.runs.store import Store, default_store, encode, using
from core.runs.tasks import pure

CALLS: list[int] = []


@pure("tests.answers.square")
def square(number: int) -> dict[str, object]:
    CALLS.append(number)
    return {"square": np.array([number**2]), "where": "here"}


def tasks(*numbers: int) -> list[Task]:
    return [Task.of(str(number), square, role=number, number=number) for number in numbers]


@pytest.fixture
def shipped(tmp_path: Path) -> Precomputed:
    """Answers to the squares of 2 and 3, which say that they came with the box."""
    CALLS.clear()
    path = tmp_path / "answers" / "answers.zip"
    values = {
        task.key: encode({"square": np.array([task.role**2]), "where": "box"})
        for task in tasks(2, 3)
    }
    write_precomputed(path, values)
    return Precomputed(path)


@pytest.fixture
def store(tmp_path: Path, shipped: Precomputed) -> Store:
    return Store(tmp_path / "store", precomputed=shipped)


def test_a_run_reads_what_came_with_the_box_and_computes_the_rest(store: Store) -> None:
    seen: list[Progress] = []
    outputs = run(tasks(2, 3, 4), store=store, progress=seen.append)
    assert [outputs.values[number]["where"] for number in (2, 3, 4)] == ["box", "box", "here"]
    assert [int(outputs.values[number]["square"][0]) for number in (2, 3, 4)] == [4, 9, 16]
    assert CALLS == [4]
    assert (seen[-1].stored, seen[-1].shipped, seen[-1].total) == (2, 2, 3)


def test_what_came_with_the_box_is_not_copied_into_the_store(store: Store) -> None:
    run(tasks(2, 3), store=store)
    assert store.info().entries == 0
    assert all(task.key in store for task in tasks(2, 3))


def test_a_file_made_to_unpack_for_ever_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an entry says of its size is all that is read of it, and of all together there is a
    bound."""
    payload = encode({"zeros": np.zeros(2**20, dtype="uint8")})
    write_precomputed(tmp_path / "bomb.zip", {f"{number}": payload for number in range(8)})
    bomb = Precomputed(tmp_path / "bomb.zip")
    assert bomb.path.stat().st_size < 2**15
    monkeypatch.setattr("core.runs.precomputed.LARGEST", 3 * len(payload))
    assert sum(map(len, bomb.get_many(bomb.keys()).values())) == 3 * len(payload)
    monkeypatch.setattr("core.runs.precomputed.LARGEST", len(payload) - 1)
    assert bomb.get_many(bomb.keys()) == {}


SMOOTH = {"losses": np.linspace(1.0, 2.0, 999), "right": np.arange(999) % 3 == 0, "model": "a"}


def test_a_value_is_written_in_the_form_that_is_smaller(tmp_path: Path) -> None:
    """Numbers that are alike are kept in byte planes; whichever form, the same bytes are read."""
    values = {"smooth": encode(SMOOTH), "words": encode({"words": ["a", "b"]})}
    write_precomputed(tmp_path / "two.zip", values)
    with ZipFile(tmp_path / "two.zip") as archive:
        assert set(archive.namelist()) == {"smooth.planes", "words.safetensors"}
        assert archive.getinfo("smooth.planes").compress_size < len(zlib.compress(values["smooth"]))
    two = Precomputed(tmp_path / "two.zip")
    assert two.keys() == ("smooth", "words")
    assert two.get_many(values) == values


@pytest.mark.parametrize(
    "payload",
    [b"", b"\xff" * 40, (2).to_bytes(8, "little") + b"[]", encode(SMOOTH)[:2001]],
    ids=["nothing", "a length beyond the end", "no header", "cut short"],
)
def test_planes_of_what_is_no_value_are_a_miss(tmp_path: Path, payload: bytes) -> None:
    with ZipFile(tmp_path / "odd.zip", "w", ZIP_DEFLATED) as archive:
        archive.writestr("odd.planes", payload)
        archive.writestr("sound.planes", byte_planes(encode(SMOOTH)))
    assert Precomputed(tmp_path / "odd.zip").get_many(["odd", "sound"]) == {"sound": encode(SMOOTH)}


def test_what_was_computed_here_comes_first(store: Store) -> None:
    run(tasks(2), store=store.without_precomputed())
    seen: list[Progress] = []
    outputs = run(tasks(2, 3), store=store, progress=seen.append)
    assert [outputs.values[number]["where"] for number in (2, 3)] == ["here", "box"]
    assert (seen[-1].stored, seen[-1].shipped) == (2, 1)


def test_without_precomputed_results_all_is_computed_and_kept_in_the_same_store(
    store: Store,
) -> None:
    with using(store.without_precomputed()):
        outputs = run(tasks(2, 3))
    assert sorted(CALLS) == [2, 3]
    assert outputs.values[2]["where"] == "here"
    assert store.info().entries == 2
    assert store.precomputed is not None


@pytest.mark.parametrize("damage", ["cut short", "a flipped bit", "empty", "gone", "no archive"])
def test_damaged_results_are_computed_again(
    store: Store, shipped: Precomputed, damage: str
) -> None:
    content = bytearray(shipped.path.read_bytes())
    middle = (
        content.index(b"PK\x03\x04") + 30 + len(f"{'0' * 64}.safetensors") + 40
    )  # inside the first entry
    content[middle] ^= 255
    changed = {
        "cut short": bytes(content[: len(content) // 2]),
        "a flipped bit": bytes(content),
        "empty": b"",
        "no archive": b"#" * 1000,
    }
    if damage == "gone":
        shipped.path.unlink()
    else:
        shipped.path.write_bytes(changed[damage])
    outputs = run(tasks(2, 3), store=store)
    assert [int(outputs.values[number]["square"][0]) for number in (2, 3)] == [4, 9]
    assert len(CALLS) == (1 if damage == "a flipped bit" else 2)


def test_the_same_values_give_the_same_file_in_any_order(tmp_path: Path) -> None:
    values = {task.key: encode(square(task.role)) for task in tasks(2, 3, 5)}
    write_precomputed(tmp_path / "one.zip", values)
    write_precomputed(tmp_path / "two.zip", dict(reversed(values.items())))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert Precomputed(tmp_path / "one.zip").keys() == tuple(sorted(values))


@pytest.mark.parametrize(
    "name", ["PALIMPSEST_PRECOMPUTED", "PALIMPSEST_ANSWERS"]
)  # the second before 0.5
def test_the_default_store_has_the_results_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, shipped: Precomputed, name: str
) -> None:
    assert default_store().precomputed is None  # as every test starts
    monkeypatch.delenv("PALIMPSEST_PRECOMPUTED")
    monkeypatch.setenv(name, str(shipped.path))
    assert default_store().precomputed is not None
    assert default_store().get(tasks(2)[0].key) is not None
    monkeypatch.delenv(name)
    found = default_precomputed()
    assert found is not None
    assert found.path.parts[-3:] == ("zoo", "answers", "answers.zip")


def test_the_new_name_of_the_file_goes_before_the_old(
    monkeypatch: pytest.MonkeyPatch, shipped: Precomputed
) -> None:
    monkeypatch.setenv("PALIMPSEST_ANSWERS", str(shipped.path))
    monkeypatch.setenv("PALIMPSEST_PRECOMPUTED", "none")
    assert default_precomputed() is None
