"""A stranger's tokenizer gives what the library gives, and one that breaks its limits ends in a
sentence, not in us."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.errors import CancelledError, ModelError
from core.models import load_model, load_tokenizer, locate, parse_ref
from core.models.files.checkpoints import MAX_SUBWORDS
from core.models.loading import tokenizers
from core.models.loading.tokenizers import Encoding, OutsideTokenizer, Tokenizer, open_tokenizer
from core.models.loading.tokenizing import LONGEST_FORM
from core.runs.process import isolation as apart
from core.vectors.activations import extract
from core.vectors.forward import cut_pair, cut_sentences
from tests import ROOT
from tests.cases import exhaustive
from tests.core.hostile import grown
from tests.core.hub_server import HubServer
from tests.core.tiny_models import SENTENCES, plain_tokenizer, save_tiny

pytestmark = [pytest.mark.tokenizers_apart, pytest.mark.usefixtures("forked")]
ODD = (
    "",
    " ",
    "\ud7ff",
    "\U0001f469‍\U0001f680",
    "e\u0301",
    "a\u0000b",
    "naïve",
    "x" * 400,
    "\u2028",
    "don't",
)
TEXTS = ("the man opened the door", "", "a", " quiet  dog ", "unbelievable things, " * 60)
Settings = dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models with a WordPiece, a byte-level and a unigram tokenizer."""
    folder = tmp_path_factory.mktemp("tokenizers")
    return {name: save_tiny(folder / name, name) for name in ("bert", "gpt2", "roberta", "t5")}


@pytest.fixture
def folder(saved: dict[str, Path], tmp_path: Path) -> Path:
    """A model that a test may spoil."""
    return Path(shutil.copytree(saved["bert"], tmp_path / "spoilt"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes that were started."""
    processes: list[Any] = []
    start = subprocess.Popen

    def popen(*arguments: Any, **named: Any) -> Any:
        processes.append(start(*arguments, **named))
        return processes[-1]

    monkeypatch.setattr(apart.subprocess, "Popen", popen)
    return processes


def sentences_of(seed: int) -> list[tuple[str, ...]]:
    """Sentences of ordinary and odd words."""
    drawn = random.Random(seed)
    words = [word for sentence in SENTENCES for word in sentence] + [*ODD]
    return [*SENTENCES, *(tuple(drawn.choices(words, k=drawn.randint(1, 40))) for _ in range(260))]


@pytest.mark.slow
@pytest.mark.parametrize("name", exhaustive(["bert", "gpt2", "roberta", "t5", "zoo"], "zoo"))
def test_both_ways_give_the_same_numbers(saved: dict[str, Path], name: str) -> None:
    place = locate("zoo:seed-0") if name == "zoo" else saved[name]
    plain = plain_tokenizer(str(place))
    there = Tokenizer(OutsideTokenizer(place, name), 64)
    sentences = sentences_of(1)
    assert (there.pad, there.cls, there.unk) == (
        plain.pad_token_id,
        plain.cls_token_id,
        plain.unk_token_id,
    )
    encoded = plain([list(words) for words in sentences], is_split_into_words=True)
    for number, found in enumerate(there.encode(sentences)):
        kept = slice(MAX_SUBWORDS + 1)
        assert found.ids == encoded["input_ids"][number][kept]
        assert [None if word < 0 else word for word in found.words] == encoded.word_ids(number)[
            kept
        ]
        assert [None if side < 0 else side for side in found.sides] == encoded.sequence_ids(number)[
            kept
        ]
        assert found.subwords == len(encoded["input_ids"][number])
    cut = plain(list(TEXTS), truncation=True, max_length=12)["input_ids"]
    assert [found.ids for found in there.encode(TEXTS, longest=12)] == cut
    pair = plain(["a", "dog"], ["the", "door"], is_split_into_words=True)
    (found,) = there.encode([("a", "dog")], [("the", "door")])
    assert (found.ids, found.segments) == (pair["input_ids"], pair.get("token_type_ids"))
    assert [None if side < 0 else side for side in found.sides] == pair.sequence_ids()


@pytest.mark.slow
@pytest.mark.parametrize("name", exhaustive(["bert", "gpt2", "t5", "zoo"], "gpt2"))
def test_the_process_and_the_included_way_agree(
    saved: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = parse_ref("zoo:seed-0" if name == "zoo" else f"path:{saved[name]}")
    there = Tokenizer(OutsideTokenizer(locate(ref), str(ref)), 64)
    monkeypatch.setattr(tokenizers, "is_included", lambda ref, folder: True)
    here = open_tokenizer(ref, locate(ref), 64)
    sentences = sentences_of(2)
    assert cut_sentences(there, sentences) == cut_sentences(here, sentences)
    assert cut_pair(there, SENTENCES[0], SENTENCES[1]) == cut_pair(here, SENTENCES[0], SENTENCES[1])
    assert there.forms(sentences) == here.forms(sentences)
    assert there.behaviour == here.behaviour
    assert (there.pad, there.cls, there.unk, there.longest) == (
        here.pad,
        here.cls,
        here.unk,
        here.longest,
    )


@pytest.mark.slow
def test_included_models_start_no_process_and_others_do(
    saved: dict[str, Path], started: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_tokenizer("zoo:seed-0").encode(SENTENCES)
    assert started == []
    tokenizer = load_tokenizer(f"path:{saved['bert']}")
    tokenizer.encode(SENTENCES)
    tokenizer.forms(SENTENCES)
    assert len(started) == 1
    # A model of the box whose files are not those of the manifest is a stranger's.
    shutil.copytree(locate("zoo:seed-0"), tmp_path / "models" / "seed-0")
    shutil.copy(locate("zoo:seed-0").parents[1] / "manifest.json", tmp_path)
    settings = tmp_path / "models" / "seed-0" / "tokenizer_config.json"
    settings.write_text(settings.read_text() + " ")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    load_tokenizer("zoo:seed-0")
    assert len(started) == 2


@pytest.mark.slow
def test_the_process_ends_with_the_tokenizer(saved: dict[str, Path], started: list[Any]) -> None:
    tokenizer = load_tokenizer(f"path:{saved['bert']}")
    assert started[0].poll() is None
    del tokenizer
    gc.collect()
    assert started[0].poll() is not None


@pytest.mark.slow
def test_vectors_are_those_of_the_library(saved: dict[str, Path]) -> None:
    import numpy as np
    import torch

    ref = f"path:{saved['bert']}"
    found = extract(ref, SENTENCES[:1])
    inputs = plain_tokenizer(ref)(
        [list(SENTENCES[0])], is_split_into_words=True, return_tensors="pt"
    )
    with torch.no_grad():
        states = load_model(ref, device="cpu").model(
            input_ids=inputs["input_ids"], output_hidden_states=True
        )
    owner = np.array([-1 if word is None else word for word in inputs.word_ids()])
    top = states.hidden_states[-1][0].numpy()
    expected = np.stack([top[owner == word].mean(0) for word in range(len(SENTENCES[0]))])
    np.testing.assert_allclose(found.vectors[-1], expected, atol=2e-3)


def edited(folder: Path, file: str, change: Callable[[Settings], None]) -> str:
    path = folder / file
    settings = json.loads(path.read_text())
    change(settings)
    path.write_text(json.dumps(settings))
    return f"path:{folder}"


def nested(settings: Settings) -> None:
    settings["normalizer"] = {
        "type": "Sequence",
        "normalizers": [grown(2), {"type": "Prepend", "prepend": "a" * 9_999}, grown(2)],
    }


def backtracking(settings: Settings) -> None:
    settings["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"Regex": "(a+)+$"},
        "behavior": "Isolated",
        "invert": False,
    }


def many_specials(settings: Settings) -> None:
    special = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    ids = {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}
    single = [special] * 100_000 + [{"Sequence": {"id": "A", "type_id": 0}}]
    settings["post_processor"] = {"type": "TemplateProcessing", "single": single,
                                  "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
                                  "special_tokens": ids}  # fmt: skip


def many_ids(settings: Settings) -> None:
    """One special token that stands for a million ids."""
    many_specials(settings)
    settings["post_processor"]["single"] = [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                            {"Sequence": {"id": "A", "type_id": 0}}]  # fmt: skip
    settings["post_processor"]["special_tokens"]["<s>"] |= {
        "ids": [1] * 10**6,
        "tokens": ["<s>"] * 10**6,
    }


def added(settings: Settings) -> None:
    settings["added_tokens"] += [
        {
            "id": 1000 + number,
            "content": f"<added {number}>",
            "single_word": False,
            "lstrip": True,
            "rstrip": True,
            "normalized": True,
            "special": number % 2 == 0,
        }
        for number in range(400_000)
    ]


def vocabulary(settings: Settings) -> None:
    settings["model"]["vocab"] |= {f"word{number}": 1000 + number for number in range(1_500_000)}


def padded(settings: Settings) -> None:
    settings["padding"] = {
        "strategy": {"Fixed": 2**40},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }


def settled(settings: Settings) -> None:
    settings["added_tokens_decoder"] = {
        str(1000 + number): {
            "content": f"<extra {number}>",
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
        for number in range(20_000)
    }


HOSTILE: list[tuple[str, Callable[[Settings], None]]] = [
    ("tokenizer.json", lambda settings: settings.update(normalizer=grown(4))),
    ("tokenizer.json", nested),
    ("tokenizer.json", backtracking),
    ("tokenizer.json", many_specials),
    ("tokenizer.json", many_ids),
    ("tokenizer.json", added),
    ("tokenizer.json", vocabulary),
]
WORDS = [("banana", "a" * 300 + "!", "man")] * 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "change"),
    exhaustive(HOSTILE, HOSTILE[0]),
    ids=[getattr(change, "__name__", "") for _, change in HOSTILE],
)
def test_a_hostile_tokenizer_is_one_sentence_within_bounds(
    folder: Path,
    file: str,
    change: Callable[[Settings], None],
    monkeypatch: pytest.MonkeyPatch,
    started: list[Any],
) -> None:
    monkeypatch.setattr(tokenizers, "SECONDS", 4.0)
    monkeypatch.setattr(tokenizers, "MEMORY", tokenizers.MEMORY_SHARED)
    ref = edited(folder, file, change)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(ModelError, match=r"^The tokenizer of path:.* choose another model\.$"):
        cut_sentences(load_tokenizer(ref), WORDS)
    assert started[0].poll() is not None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "change"),
    exhaustive(
        [("tokenizer.json", padded), ("tokenizer_config.json", settled)],
        ("tokenizer.json", padded),
    ),
)
def test_what_the_library_ignores_or_bears_does_no_harm(
    folder: Path, file: str, change: Callable[[Settings], None]
) -> None:
    ref = edited(folder, file, change)
    found = cut_sentences(load_tokenizer(ref), [("a", "dog")])
    assert found[0].subwords < 10


@pytest.mark.slow
def test_a_template_of_a_chat_is_not_run(folder: Path) -> None:
    bomb = "{% for a in range(10**9) %}{% for b in range(10**9) %}x{% endfor %}{% endfor %}"
    (folder / "chat_template.jinja").write_text(bomb)
    ref = edited(
        folder, "tokenizer_config.json", lambda settings: settings.update(chat_template=bomb)
    )
    assert load_tokenizer(ref).encode(["a dog"])[0].subwords > 1


@pytest.mark.slow
def test_a_token_that_the_model_has_no_vector_of_is_refused_before_a_forward_pass(
    folder: Path,
) -> None:
    def grown_by_one(settings: Settings) -> None:
        entry = {"content": "zebra", "special": False, "normalized": False, "single_word": False}
        rows = len(settings["model"]["vocab"])
        settings["added_tokens"].append({**entry, "id": rows, "lstrip": False, "rstrip": False})

    ref = edited(folder, "tokenizer.json", grown_by_one)
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    assert extract(ref, [("a", "dog")]).vectors.shape[1] == 2
    with pytest.raises(
        ModelError, match=f"names token {rows:,}, and the model has vectors of {rows:,}"
    ):
        extract(ref, [("a", "zebra")])
    config = json.loads((folder / "config.json").read_text())
    del config["vocab_size"]  # the library's own number stands for it
    (folder / "config.json").write_text(json.dumps(config))
    assert load_tokenizer(ref).encode([("a", "zebra")])


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_padding_token_without_a_vector_pads_nothing(folder: Path) -> None:
    place = (parse_ref(f"path:{folder}"), folder, 64)
    assert open_tokenizer(*place).pad is not None
    assert open_tokenizer(*place, open_tokenizer(*place).pad).pad is None


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_text_of_too_many_subwords_comes_back_cut_and_counted(folder: Path) -> None:
    ref = edited(folder, "tokenizer.json", lambda settings: settings.update(normalizer=grown(1)))
    (found,) = load_tokenizer(ref).encode([("a",) * 3_000])
    assert len(found.ids) == len(found.words) == MAX_SUBWORDS + 1 < found.subwords
    result = extract(ref, [("a",) * 3_000, ("dog",)])
    assert re.search(r"\b1 of 2\b.*\b64\b", result.notices[0])
    assert result.sentence.tolist() == [1]


def replacing(content: str) -> Callable[[Settings], None]:
    """Make a tokenizer read something long for every a."""
    replace = {"type": "Replace", "pattern": {"String": "a"}, "content": content}
    return lambda settings: settings.update(normalizer=replace)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "ask"),
    [
        ("😀" * 10_000, lambda tokenizer, words: tokenizer.forms([words])),
        ("the dog " * 1_000, lambda tokenizer, words: tokenizer.encode([*zip(words[:1_000])])),
    ],
)
def test_what_a_tokenizer_answers_is_bounded_by_what_it_is_asked(
    folder: Path, content: str, ask: Callable[[Tokenizer, Sequence[str]], object]
) -> None:
    """Of 25,000 words or 1,000 texts, as a shared instance allows."""
    tokenizer = load_tokenizer(edited(folder, "tokenizer.json", replacing(content)))
    (forms,) = tokenizer.forms([("banana", "ban", "dog")])
    assert len(set(forms)) == 3
    assert max(map(len, forms)) < 2 * LONGEST_FORM
    tracemalloc.start()
    with pytest.raises(ModelError, match="makes more of a text than a tokenizer should"):
        ask(tokenizer, [f"a{number}" for number in range(25_000)])
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", exhaustive(["bert", "gpt2", "t5"], "t5"))
def test_an_answer_of_many_short_and_odd_texts_is_no_longer_than_allowed(
    saved: dict[str, Path], name: str
) -> None:
    tokenizer = load_tokenizer(f"path:{saved[name]}")
    for text in (("a",), ("é" * 20, "가" * 10), ("😀",), ("\ufdfa",), ()):
        assert len(tokenizer.encode([text] * 3_000)) == 3_000


@pytest.mark.slow
def test_a_tokenizer_that_refuses_goes_on(saved: dict[str, Path], started: list[Any]) -> None:
    tokenizer = load_tokenizer(f"path:{saved['bert']}")
    with pytest.raises(ModelError, match="cannot tokenize text"):
        tokenizer.encode(["a dog"], longest=0.5)  # type: ignore[arg-type]
    assert isinstance(tokenizer.encode(["a dog"])[0], Encoding)
    assert len(started) == 1


@pytest.mark.slow
def test_a_process_that_was_ended_is_started_again(
    saved: dict[str, Path], started: list[Any]
) -> None:
    tokenizer = load_tokenizer(f"path:{saved['bert']}")
    started[0].kill()
    with pytest.raises(ModelError, match="crashed or took more memory"):
        tokenizer.encode(["a dog"])
    assert tokenizer.encode(["a dog"])[0].subwords > 1
    assert len(started) == 2


@pytest.mark.slow
def test_a_shared_instance_holds_one_strangers_tokenizer_at_a_time(
    saved: dict[str, Path], started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    one, other = (OutsideTokenizer(saved[kind], kind) for kind in ("bert", "gpt2"))
    request = {"what": "forms", "words": ["dog"]}
    assert list(one(request))
    assert [process.poll() is None for process in started] == [True]
    assert list(other(request))
    assert [process.poll() is None for process in started] == [False, True]
    with ThreadPoolExecutor(4) as asking:
        said = list(
            asking.map(lambda tokenizer: list(tokenizer(request)), [one, other, one, other])
        )
    assert all(said)
    assert sum(process.poll() is None for process in started) == 1


@pytest.mark.slow
def test_who_waits_for_a_tokenizer_hears_of_a_cancelled_run(
    saved: dict[str, Path], started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    monkeypatch.setattr(tokenizers, "tick", lambda *said: (_ for _ in ()).throw(CancelledError()))
    with tokenizers._asking, pytest.raises(CancelledError):
        OutsideTokenizer(saved["bert"], "bert")({"what": "forms", "words": ["dog"]})
    assert not started


def test_settings_of_any_size_are_not_read(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text('{"x": [' + "[]," * 3_000_000 + "0]}")
    with pytest.raises(ModelError, match="too large for a file of settings"):
        load_tokenizer(f"path:{folder}")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_shared_server_says_a_sentence_and_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command reads a model of a hub whose tokenizer would abort it; it leaves with a sentence,
    and lives."""
    edited(folder, "tokenizer.json", lambda settings: settings.update(normalizer=grown(4)))
    with HubServer() as server:
        server.add("org/evil", folder)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "core",
                "rsa",
                "--base",
                "hub:org/evil",
                "--compare",
                "zoo:seed-1",
                "--sentences",
                "20",
                "--no-references",
                "--out",
                str(tmp_path / "out"),
            ],
            env=os.environ
            | {
                "PALIMPSEST_MODE": "shared",
                "HF_ENDPOINT": server.url,
                "HF_HUB_CACHE": str(tmp_path / "cache"),
                "HF_HUB_OFFLINE": "0",
            },
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            cwd=ROOT,
        )
    assert done.returncode in (1, 2), done
    said = done.stdout + done.stderr
    assert (
        "The tokenizer of hub:org/evil crashed or took more memory than a tokenizer should (320 MB)"
        in said
    )
    assert "Traceback" not in said


@pytest.mark.slow
def test_cancelling_ends_the_process(
    saved: dict[str, Path], folder: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = load_tokenizer(edited(folder, "tokenizer.json", backtracking))

    def tick(fraction: float, note: str = "") -> None:
        if started:  # the process has begun, and has not answered
            raise CancelledError

    monkeypatch.setattr("core.maths.progress.tick", tick)
    began = time.monotonic()
    with pytest.raises(CancelledError):
        tokenizer.encode([("a" * 40 + "!",)])
    assert time.monotonic() - began < 5
    assert started[0].poll() is not None
