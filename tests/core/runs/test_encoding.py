"""Values survive the journey to bytes and back, and nothing but values goes on it; keys depend on
content alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.runs.encoding import DTYPES, decode, encode, key_of
from tests import ROOT

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
PLAIN = st.recursive(
    SCALARS, lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=5
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3)])
def test_arrays_return_as_they_were(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.asarray(np.random.default_rng(0).random(shape) * 100).astype(dtype)
    back = decode(encode({"array": array}))["array"]
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert np.array_equal(back, array)
    assert back.flags.writeable


def test_arrays_in_odd_memory_layouts_return_equal() -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for odd in (array.T, array[:, ::2, ::-1], np.asfortranarray(array), array.astype(">f4")):
        assert np.array_equal(decode(encode({"array": odd}))["array"], odd)


@pytest.mark.slow
@given(st.dictionaries(st.text().filter(lambda name: name != "__metadata__"), PLAIN))
@settings(max_examples=25, deadline=None)
def test_json_returns_as_it_was_in_its_order(value: dict) -> None:
    back = decode(encode(value))
    assert back == value
    assert list(back) == list(value)


def test_names_keep_their_order_among_arrays_and_json() -> None:
    value = {"z": np.zeros(2), "a": 1, "m": np.ones(3, np.int8), "b": (1, 2), "s": np.float32(0.5)}
    back = decode(encode(value))
    assert list(back) == list(value)
    assert back["b"] == [1, 2]
    assert back["s"] == 0.5


def test_not_a_number_and_infinity_return() -> None:
    back = decode(
        encode({"x": float("nan"), "y": -np.inf, "z": np.array([np.nan, np.inf], np.float16)})
    )
    assert np.isnan(back["x"])
    assert back["y"] == -np.inf
    assert np.isnan(back["z"][0])


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        {"x": {1: 2}},
        {"x": object()},
        {"x": {1, 2}},
        {"x": np.array(["text"])},
        {"x": np.array([object()])},
        {"x": b"bytes"},
        {"__metadata__": 1},
    ],
)
def test_other_things_are_refused(value: dict) -> None:
    with pytest.raises(TypeError):
        encode(value)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00" * 8,
        b"\x80\x04K\x01.",
        b"\xff" * 100,
        (2).to_bytes(8, "little") + b"{}",
        (2**62).to_bytes(8, "little") + b"{}",
        encode({"x": np.arange(5), "y": 1})[:-1],
        encode({"x": np.arange(5), "y": 1})[:40],
        encode({"x": np.arange(5), "y": 1}) + b"more",
    ],
)
def test_foreign_bytes_are_a_damaged_entry(payload: bytes) -> None:
    with pytest.raises(OSError, match="not a stored value"):
        decode(payload)


def test_safetensors_of_others_is_a_damaged_entry() -> None:
    from safetensors.numpy import save

    for metadata in (
        None,
        {"palimpsest": json.dumps({"order": ["y"], "json": {}})},
        {"palimpsest": "[]"},
    ):
        with pytest.raises(OSError, match="not a stored value"):
            decode(save({"x": np.zeros(2)}, metadata))


def test_keys_tell_types_apart_and_tuples_from_lists_not() -> None:
    different = [key_of(part) for part in (1, 1.0, True, "1", None, (1,), "", (), {"1": 1})]
    assert len(set(different)) == len(different)
    assert key_of((1, (2, 3))) == key_of([1, [2, 3]])
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of("a", "b") != key_of(("a", "b"))
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})


@pytest.mark.parametrize(
    "part", [object(), {1}, b"x", {1: 2}, np.zeros(2), Path("x"), 1j, np.float32(1)]
)
def test_keys_are_made_of_plain_values_only(part: object) -> None:
    with pytest.raises(TypeError):
        key_of("x", (1, [part]))


@pytest.mark.slow
def test_a_key_is_the_same_in_every_process() -> None:
    code = (
        "from core.runs.encoding import key_of; print(key_of('é', 1, 2.5, None, (True, {'b': 1, "
        "'a': [2]})))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env=env,
        )
        for env in ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"})
    ]
    assert {run.stdout.strip() for run in runs} == {
        key_of("é", 1, 2.5, None, (True, {"b": 1, "a": [2]}))
    }
