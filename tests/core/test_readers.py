"""Ten thousand bent examples for every reader of what strangers write: nothing but our own errors
comes out."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import PalimpsestError
from core.models import locate, parse_ref
from core.models.files import checkpoints, layout
from core.models.files.safetensors import LocalFile, parse_header, read_whole_header
from core.models.weights import tensors
from core.options import options_of
from core.runs.encoding import decode, encode
from core.runs.process.parsing import parse_json
from core.studies.rsa.layers.spec import RsaSpec
from core.text import parsing
from core.text.corpora import corpus_from_bytes, read_corpus
from core.text.datasets import parse_hub_ref
from tests.core.hostile import EXAMPLES, NASTY, bend, bend_bytes, bent_json, read_or_refuse, texts

REFERENCES = (
    "zoo:seed-0",
    "hub:bert-base-uncased",
    "hub:org/name@refs/pr/1",
    "path:/some/dir",
    "random:zoo:seed-0",
)
CORPORA = (
    "demo:fiction,news",
    "demo-gold",
    "/tmp/none/a.txt",
    "a.conllu.gz",
    "~/a.txt",
    "hub:nyu-mll/glue/sst2",
)
DATA_SETS = ("hub:nyu-mll/glue/sst2#validation:sentence", "hub:a/b:column", "hub:imdb#train[:5%]")
ROW = "{}\tword\t_\tNOUN\tNN\t_\t{}\tnsubj\t_\t_\n"
CONLLU = (
    "# genre = news\n" + ROW.format(1, 2) + ROW.format(2, 0) + "\n",
    ROW.format(1, 0)
    + "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + ROW.format(2, 1)
    + ROW.format(3, 1)
    + "\n",
    ROW.format(1, "_") + "1.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_\n" + ROW.format(2, "_") + "\n",
)
TEXTS = ("It's late. Don't go!\nStay\r\n\n", "One (two) three ...", "שלום עולם.\nمرحبا\n", "a b c")
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "num_hidden_layers": 3,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 90,
    "max_position_embeddings": 64,
    "id2label": {"0": "yes", "1": "no"},
    "rope_parameters": {"factors": [1.0, 2.0]},
}
HEADER = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
    "c": {"dtype": "I64", "shape": [], "data_offsets": [32, 40]},
}
INDEX = {
    "metadata": {"total_size": 9},
    "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"},
}
VALUE = {
    "v": np.arange(6.0),
    "h": np.ones((2, 2), np.float16),
    "words": [["a"], []],
    "n": 3,
    "none": None,
}


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_model_references(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if shared:
        monkeypatch.setenv("PALIMPSEST_MODE", "shared")

    def read(text: str) -> None:
        ref = parse_ref(text)
        assert parse_ref(str(ref)) == ref
        if ref.kind != "hub":
            locate(ref)

    extreme = [
        "zoo:" + "a" * 300,
        "random:" * 5_000 + "zoo:seed-0",
        "path:~nosuchuser",
        "path:/a\0b",
        "path:" + "a/" * 3_000,
    ]
    taken = [
        read_or_refuse(lambda text=text: read(text)) for text in (*extreme, *texts(1, REFERENCES))
    ]
    assert not any(taken[: len(extreme)])
    assert any(taken)


@pytest.mark.slow
def test_text_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.text.sources.stream_rows", lambda source: iter(["a word"]))
    monkeypatch.setattr("core.text.corpora.read_demo", lambda handle: iter(()))
    monkeypatch.setattr(parsing, "tokenize_lines", lambda lines, split=True, store=None: [[("a",)]])
    extreme = [
        "~nosuchuser/a.txt",
        "a\0.txt",
        "a/" * 3_000 + "b.txt",
        "hub:" + "a" * 400,
        "demo:" + "x" * 9_999,
    ]
    for text in (*extreme, *texts(2, CORPORA)):
        read_or_refuse(lambda text=text: read_corpus(text))


def test_data_set_references() -> None:
    for text in texts(3, DATA_SETS):
        read_or_refuse(lambda text=text: parse_hub_ref(text))


@pytest.mark.slow
def test_conllu() -> None:
    taken = []
    for number, text in enumerate(texts(4, CONLLU)):
        data = text.encode("utf8", "replace")
        packed = number % 10 == 0
        name = "a.conllu.gz" if packed else "a.conllu"
        content = bend_bytes(random.Random(number), gzip.compress(data, 1)) if packed else data
        taken.append(read_or_refuse(lambda: corpus_from_bytes(name, content)))  # noqa: B023
    assert any(taken)
    huge = ROW.format("9" * 4_300, 1)
    assert not read_or_refuse(lambda: corpus_from_bytes("a.conllu", huge.encode()))
    many = "".join(ROW.format(i, 0) for i in range(1, 3_000))
    assert not read_or_refuse(lambda: corpus_from_bytes("a.conllu", many.encode()))


@pytest.mark.slow
def test_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    direct = [parsing.tokenize]  # without the store, which has its own test
    monkeypatch.setattr(
        parsing,
        "tokenize_lines",
        lambda lines, split=True, store=None: [direct[0](line, split) for line in lines],
    )
    rng = random.Random(5)
    taken = 0
    for text in texts(5, TEXTS):
        data = text.encode("utf8", "replace")
        content = bend_bytes(rng, data) if rng.random() < 0.3 else data
        name = rng.choice(("a.txt", "a.txt", bend(rng, "a.txt"), "x" * 150 + ".txt", "a.txt.gz"))
        taken += read_or_refuse(lambda: corpus_from_bytes(name, content))  # noqa: B023
    assert taken > EXAMPLES / 10


def test_an_upload_with_a_long_name_keeps_its_ending() -> None:
    assert corpus_from_bytes("x" * 150 + ".conllu", CONLLU[0].encode()).ref.endswith("x.conllu")


def test_values_of_links() -> None:
    options = options_of(RsaSpec)
    samples = [text for option in options for text in option.write(option.default)] or ["1"]
    rng = random.Random(6)
    for text in texts(6, [*samples, "0,1,2", "true", "500"]):
        option = rng.choice(options)
        given = [text] if rng.random() < 0.8 else [text, rng.choice(NASTY)]
        read_or_refuse(lambda: option.read(given))  # noqa: B023


@pytest.mark.slow
def test_safetensors_headers(tmp_path: Path) -> None:
    rng = random.Random(7)
    path = tmp_path / "model.safetensors"
    taken = 0
    for number in range(EXAMPLES):
        raw = bent_json(rng, HEADER)
        with contextlib.suppress(ValueError):
            taken += bool(parse_header(raw, LocalFile(path)))
        if number % 10 == 0:
            length = len(raw).to_bytes(8, "little") if rng.random() < 0.9 else rng.randbytes(8)
            path.write_bytes(
                (length + raw + bytes(40))[: None if rng.random() < 0.9 else rng.randrange(60)]
            )
            read_or_refuse(lambda: read_whole_header(path))
            read_or_refuse(lambda: tensors.open_checkpoint("a", {}, [LocalFile(path)]))
    assert taken


@pytest.mark.slow
def test_configurations() -> None:
    rng = random.Random(8)
    taken = 0

    def read(raw: bytes) -> None:
        config = checkpoints.checked_config(parse_json(raw, "config.json"), [], "config.json")
        layers, width, heads = checkpoints.sizes(config)
        assert 1 <= layers <= 512
        assert min(width, heads) >= 1
        assert checkpoints.longest_input(config) <= checkpoints.MAX_SUBWORDS
        assert isinstance(config.get("architectures") or ["?"], list)
        checkpoints.config_hash(config)

    for _ in range(EXAMPLES):
        raw = bent_json(
            rng,
            CONFIG | {"model_type": rng.choice(("bert", "bert", "gpt2", "t5", "bart", "roformer"))},
        )
        taken += read_or_refuse(lambda: read(raw))  # noqa: B023
    assert taken


@pytest.mark.slow
def test_indexes() -> None:
    rng = random.Random(9)
    taken = 0

    def read(raw: bytes) -> None:
        index = parse_json(raw, "index.json")
        try:
            names = layout.shard_names(index, "index.json")
        finally:
            held = ["config.json", layout.SAFETENSORS_INDEX, *INDEX["weight_map"].values()]
            layout.lay_out(held, "a").weight_files(lambda name: index)
        assert all("/" not in name and ".." not in name for name in names)

    for _ in range(EXAMPLES):
        raw = bent_json(rng, INDEX)
        taken += read_or_refuse(lambda: read(raw))  # noqa: B023
    assert taken


@pytest.mark.slow
def test_stored_values() -> None:
    rng = random.Random(10)
    payload = encode(VALUE)
    length = int.from_bytes(payload[:8], "little")
    header: dict[str, Any] = json.loads(payload[8 : 8 + length])
    read = 0
    for number in range(EXAMPLES):
        if number % 2:
            raw = bent_json(rng, json.loads(header["__metadata__"]["palimpsest"]))
            whole = json.dumps(
                header | {"__metadata__": {"palimpsest": raw.decode("utf8", "replace")}}
            ).encode()
            bent = len(whole).to_bytes(8, "little") + whole + payload[8 + length :]
        else:
            bent = bend_bytes(rng, payload)
        try:
            value = decode(bent)
        except OSError:
            continue
        assert all(isinstance(name, str) for name in value)
        read += 1
    assert read


def test_that_test_can_fail() -> None:
    with pytest.raises(ZeroDivisionError):
        read_or_refuse(lambda: 1 / 0)
    with pytest.raises(AssertionError):
        read_or_refuse(_verbose)


def _verbose() -> None:
    raise PalimpsestError("x" * 9_999)
