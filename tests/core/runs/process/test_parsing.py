"""JSON from strangers: whatever is in it, it takes no more memory and time than is allowed."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Sequence
from contextlib import nullcontext

import pytest

from core.errors import ModelError
from core.runs.process.parsing import (
    MOST_BYTES,
    MOST_MEMORY,
    TooLargeError,
    memory_of,
    parse,
    parse_json,
)
from tests import ROOT
from tests.core.runs.process.parsed import INSIDE, NUMBERS, TEXTS

SECONDS = 1.0  # of a processor; a third of it on a quiet machine
KINDS = len((*INSIDE, *TEXTS, *NUMBERS))


def parsed(seeds: Sequence[int]) -> list[dict[str, float]]:
    """What parsing a text of each seed that is just small enough took, each in a fresh process."""
    command = [sys.executable, "-m", "tests.core.runs.process.parsed", *map(str, seeds)]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def check(seeds: Sequence[int]) -> None:
    """Compare what texts took with what was counted; what seems slow is parsed once more, since
    even a processor's seconds are longer beside other work."""
    records = parsed(seeds)
    assert [record["seed"] for record in records] == list(seeds)
    for record in records:
        assert record["bytes"] <= MOST_BYTES
        assert record["bound"] <= MOST_MEMORY
        assert record["bytes"] > 0.9 * MOST_BYTES or record["bound"] > 0.9 * MOST_MEMORY
        assert record["memory"] <= record["bound"], record
    slow = [int(record["seed"]) for record in records if record["seconds"] >= SECONDS]
    again = parsed(slow) if slow else []
    assert all(record["seconds"] < SECONDS for record in again), again


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows the peak")
def test_what_is_parsed_takes_no_more_than_was_counted() -> None:
    worst = ('{"?":{"?_":0}}', '{"":{}}', "[[]]", '"aa"')
    check([(*INSIDE, *TEXTS).index(value) for value in worst])


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows the peak")
def test_every_kind_of_value_and_mixtures_take_no_more_than_was_counted() -> None:
    check(range(KINDS + 12))


@pytest.mark.parametrize("end", [b"[]]", b""], ids=["whole", "cut short"])
def test_objects_are_not_collected_again_and_again_while_lists_are_made(end: bytes) -> None:
    """With a server's objects each search takes tenths of a second, in which all threads wait."""
    phases: list[str] = []

    def note(phase: str, info: object) -> None:
        phases.append(phase)

    gc.callbacks.append(note)
    try:
        with nullcontext() if end else pytest.raises(ValueError, match="line 1"):
            parse(b"[" + b"[]," * 400_000 + end)
    finally:
        gc.callbacks.remove(note)
    assert phases.count("start") <= 1, "what is due afterwards"
    assert gc.isenabled()


HOSTILE = {
    "empty lists": b'{"__metadata__":[' + b"[]," * 3_000_000 + b"[]]}",
    "nested lists": b"[" * 5_000_000,
    "empty tensors": b"{%s}" % b",".join(b'"%d":{"shape":[0]}' % n for n in range(330_000)),
    "wide characters": '{"a":"😀'.encode() + b"a" * MOST_BYTES + b'"}',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_would_take_more_is_refused_before_it_is_parsed(kind: str) -> None:
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(TooLargeError):
        parse(HOSTILE[kind])
    assert time.process_time() - began < SECONDS
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    with pytest.raises(ModelError, match="is too large for a file of settings"):
        parse_json(HOSTILE[kind], "someone/config.json")


@pytest.mark.slow
def test_files_as_large_models_have_them_are_read() -> None:
    name = "model.layers.{}.mlp.experts.{}.down_proj.weight"
    tensors = {
        name.format(layer, expert): {
            "dtype": "BF16",
            "shape": [2048, 768],
            "data_offsets": [10**10 + expert, 10**10 + expert],
        }
        for layer in range(32)
        for expert in range(1_024)
    }
    header = json.dumps(tensors, separators=(",", ":")).encode()
    assert parse(header) == tensors
    shards = {
        name.format(layer, expert): f"model-{layer:05}-of-00094.safetensors"
        for layer in range(94)
        for expert in range(900)
    }
    index = json.dumps({"weight_map": shards}).encode()
    assert len(index) > 0.85 * MOST_BYTES
    assert parse_json(index, "index") == {"weight_map": shards}
    added = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    tokens = {str(n): {"content": f"<token_{n}>", **added, "special": True} for n in range(28_000)}
    assert parse(json.dumps({"added_tokens_decoder": tokens}, indent=1).encode())


@pytest.mark.parametrize("raw", [b"", b"{", b"[1,]", b"\xff", b"[" * 100_000, b'{"a":' * 50_000])
def test_what_is_no_json_is_an_error_of_its_own(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w") as error:
        parse(raw)
    assert not isinstance(error.value, TooLargeError)
    with pytest.raises(ModelError, match="damaged"):
        parse_json(raw, "config.json")
    with pytest.raises(ModelError, match="damaged"):
        parse_json(b"[]", "config.json")


def test_two_values_of_one_name_are_refused_in_files_of_settings() -> None:
    raw = b'{"a": [{"b": 1, "c": 2, "b": 3}]}'
    assert parse(raw) == {"a": [{"b": 3, "c": 2}]}
    with pytest.raises(ModelError, match="gives b twice"):
        parse_json(raw, "config.json")
    many = json.dumps({str(n): n for n in range(60_000)}).encode()
    begun = time.process_time()
    with pytest.raises(ModelError, match="gives 7 twice"):
        parse_json(many[:-1] + b', "7": 1}', "config.json")
    assert time.process_time() - begun < SECONDS


def test_memory_is_counted_from_the_text_alone() -> None:
    assert memory_of(b"") == 0
    assert memory_of(b"[[]]") > memory_of(b"[0]") > memory_of(b"0")
    assert memory_of('"é"'.encode()) > memory_of(b'"ee"')
