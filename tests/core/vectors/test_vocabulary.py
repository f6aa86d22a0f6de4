"""Words that a tokenizer does not have: counted without a forward pass, told on every page that
reads text."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.models.identity import Identity
from core.options import options_of
from core.results.export import Result
from core.runs.runner import Outputs, Task, run
from core.runs.store import Store, using
from core.studies.probes.sentence.study import SentenceSpec, run_sentences
from core.studies.rsa.layers import study
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.rsa.tokens.study import STUDY
from core.study import run_first_stage
from core.text.corpora import Corpus, Sentence
from core.vectors import vocabulary
from core.vectors.vocabulary import MOSTLY, lost_capitals, unknown_share, with_unknown_words
from tests.core.tiny_models import save_tiny

READ = ("the", "man", "opened", "the", "door")
STRANGE = ("η", "γλώσσα", "είναι", "όμορφη", "door")
READS_TEXT = {"corpus", "passage"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    return {kind: f"path:{save_tiny(folder / kind, kind)}" for kind in ("bert", "gpt2", "t5")}


@pytest.fixture
def lacking(tmp_path: Path) -> str:
    """A model whose vocabulary is its letters `d`, `o`, `r` and the word `door` alone."""
    folder = save_tiny(tmp_path / "lacking", "bert")
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf8"))
    kept = {"door", "d", *(token["content"] for token in content["added_tokens"])}
    words = [word for word in content["model"]["vocab"] if word in kept]
    content["model"]["vocab"] = {
        word: content["model"]["vocab"][word] for word in [*words, "<unk>"]
    }
    content["model"]["vocab"].setdefault("door", 80)
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf8")
    return f"path:{folder}"


@pytest.mark.parametrize(("kind", "share"), [("bert", 0.4), ("t5", 0.4), ("gpt2", 0.0)])
def test_the_share_is_of_all_words_and_byte_level_tokenizers_know_every_word(
    models, kind, share
) -> None:
    assert unknown_share(models[kind], [READ, STRANGE]) == pytest.approx(share, abs=0.001)
    assert unknown_share(models[kind], [READ, READ]) == 0.0
    assert unknown_share(models[kind], [(), ("",)]) == 0.0


def test_a_model_of_the_box_is_counted_like_any_other(models, monkeypatch, tmp_path) -> None:
    save_tiny(tmp_path / "models" / "seed-0", "bert")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    assert unknown_share("zoo:seed-0", [READ, STRANGE]) == unknown_share(
        models["bert"], [READ, STRANGE]
    )


def test_it_is_stored_and_looked_up_without_the_tokenizer(models, monkeypatch) -> None:
    first = unknown_share(models["bert"], [READ, STRANGE])
    monkeypatch.setattr(vocabulary, "load_tokenizer", lambda ref: pytest.fail("loaded again"))
    assert unknown_share(models["bert"], [STRANGE, READ]) == first


def _ready(share: float, role: str = "text") -> Outputs:
    refs = ("zoo:a", "random:zoo:a", "hub:org/b")
    known = {
        ("identity", ref): Identity(ref, "weights words", 3, 32, "bert", 1_000) for ref in refs
    }
    return Outputs({**known, (vocabulary.UNKNOWN, "words", role): share})


@pytest.mark.parametrize(
    ("share", "notices", "cautioned"), [(0.001, 0, False), (0.1, 1, False), (0.93, 1, True)]
)
def test_a_notice_names_share_and_models_and_a_headline_begins_with_it(
    share, notices, cautioned
) -> None:
    result = with_unknown_words(
        Result("rsa", {}, "It changes.", {"main": pd.DataFrame()}), _ready(share)
    )
    assert len(result.notices) == notices
    assert all(
        part in "".join(result.notices) for part in (f"{100 * share:.0f} %", "a and b") if notices
    )
    assert "random" not in "".join(result.notices)
    assert bool(result.caution) == cautioned == (share > MOSTLY)
    assert result.headline == "It changes."
    assert result.cautioned() == f"{result.caution} It changes.".strip()


def test_every_study_that_reads_text_asks_for_it(monkeypatch) -> None:
    """Each study runs through one function, which asks between the first stage and the plan."""

    class Seen(Exception):
        pass

    def seen(ready: Outputs) -> list[Task]:
        raise Seen

    monkeypatch.setattr("core.study.run_here", lambda tasks, **options: Outputs({}))
    monkeypatch.setattr("core.study.unknown_word_tasks", seen)
    reading = {
        name
        for name, each in STUDIES.items()
        if READS_TEXT & {option.name for option in options_of(each.Spec)}
    }
    for name in reading:
        with pytest.raises(Seen):
            STUDIES[name].run(STUDIES[name].Spec())
    assert {
        "rsa",
        "tokens",
        "swap",
        "probe",
        "probe edges",
        "align",
        "align stitch",
        "align protocol",
    } <= reading


@pytest.mark.exhaustive
def test_a_study_of_words_that_are_unknown_says_so_first(lacking, models) -> None:
    words = ("door", "man", "went", "room", "dog")
    sentences = tuple(
        Sentence((*words[: 3 + number % 3], words[number % 5])) for number in range(40)
    )
    texts = {"demo": Corpus("demo", sentences)}
    spec = RsaSpec(lacking, (models["bert"],), references=False, words=100)
    result = study.STUDY.run(spec, texts)
    share = unknown_share(lacking, [sentence.words for sentence in sentences])
    assert share > MOSTLY
    assert result.cautioned() == f"{result.caution} {result.headline}"
    assert all(part in result.caution for part in ("lacking", f"{100 * share:.0f} %"))
    assert (
        sum("lacking" in notice and f"{100 * share:.0f} %" in notice for notice in result.notices)
        == 1
    )
    assert study.STUDY.run(replace_base(spec, models["bert"]), texts).caution == ""


def replace_base(spec: RsaSpec, base: str) -> RsaSpec:
    return RsaSpec(base, (f"random:{base}",), references=False, words=spec.words)


def test_passages_and_typed_sentences_too(lacking) -> None:
    drawn = STUDY.run(
        TokenMapSpec((lacking,), passage="the man went out to his old dog", question="", answer="")
    )
    assert all(part in drawn.caution for part in ("lacking", "100 %", "passage"))
    read = run_sentences(
        SentenceSpec(lacking, (0,), words=READ, heads=(2, 3, 0, 5, 3), keep=(True,) * 5)
    )
    assert all(part in read.caution for part in ("lacking", "80 %", "sentence"))


def test_nothing_of_it_is_planned_so_stored_studies_stay_stored(models, tmp_path) -> None:
    """The tasks of a study are the same as before; what is stored is found whole."""
    spec = RsaSpec(models["bert"], (f"random:{models['bert']}",), references=False, words=100)
    texts = {"demo": Corpus("demo", (Sentence(READ), Sentence(STRANGE)) * 8)}
    with using(Store(tmp_path)):
        study.STUDY.run(spec, texts)
        ready = run_first_stage(study.prepare(spec, texts))
        outputs = run(study.plan(spec, ready))
    assert outputs.stored == len(study.plan(spec, ready)) == 1
    assert any(isinstance(role, tuple) and role[0] == vocabulary.UNKNOWN for role in ready.values)


def cased(folder: Path, **files: object) -> str:
    """A BERT whose vocabulary is one piece a line, most of them capitals, as of antibodies."""
    save_tiny(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"ACDEFGHIKLMNPQRSTVWY", "door"]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf8")
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf8")
    return f"path:{folder}"


def test_capitals_that_are_never_read_are_said_with_the_setting_to_write(tmp_path) -> None:
    folder = tmp_path / "antibodies"
    lowered = lost_capitals(cased(folder))
    assert "20 of 26 entries have capitals" in lowered
    assert '{"do_lower_case": false} into tokenizer_config.json' in lowered
    texts = {"demo": Corpus("demo", (Sentence(("Q", "V", "door")), Sentence(("A", "C"))) * 20)}
    spec = RsaSpec(f"path:{folder}", (f"random:path:{folder}",), references=False, words=50)
    told = [notice for notice in study.STUDY.run(spec, texts).notices if "capitals" in notice]
    assert sum("do_lower_case" in notice and "antibodies" in notice for notice in told) == 1
    assert sum("80 %" in notice for notice in told) == 1  # and no advice to choose another text
    assert not any("Choose a text" in notice for notice in told)
    ref = cased(folder, tokenizer_config={"do_lower_case": False})
    assert lost_capitals(ref) == ""
    assert unknown_share(ref, [["Q", "V"], ["door"]]) == 0.0


def test_vocabularies_that_are_read_as_they_are_have_nothing_lost(models) -> None:
    assert [lost_capitals(ref) for ref in (*models.values(), "zoo:seed-0")] == [""] * 4


def test_a_tokenizer_of_no_class_is_told_to_change_its_normalizer(tmp_path) -> None:
    folder = save_tiny(tmp_path / "own")
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text(encoding="utf8"))
    words = [word.upper() for word in content["model"]["vocab"] if not word.startswith("<")]
    content["model"]["vocab"] |= {word: 200 + number for number, word in enumerate(words)}
    file.write_text(json.dumps(content), encoding="utf8")
    assert '"lowercase": false into the normalizer of tokenizer.json' in lost_capitals(
        f"path:{folder}"
    )
