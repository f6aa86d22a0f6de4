"""Reading a study's text: one count of sentences, what was read, wherever it is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.options.summary import summary
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.rsa.audit.spec import AuditSpec
from core.studies.rsa.layers import study
from core.studies.rsa.layers.notice_text import items_in_words
from core.studies.rsa.layers.spec import RsaSpec
from core.text.corpora import read_corpus
from core.text.reading import fewer_sentences, prepare_named, read_text, repeated_sentences
from tests.core.tiny_models import save_tiny

TEXT = "\n".join(
    f"The man opened door number {number} of the old house quietly." for number in range(116)
).encode()


def test_a_first_stage_reads_the_text_and_identifies_the_models_that_a_spec_names() -> None:
    text, *models = prepare_named(RsaSpec(compare=("zoo:pos-0",), sentences=40))
    assert (text.role, text.values["limit"]) == ("text", 40)
    assert [(task.role[1], task.values["run"]) for task in models] == [
        ("zoo:seed-0", True), ("zoo:pos-0", True)
    ]  # fmt: skip
    groups = AlignSpec().groups  # with a second run, which no option names
    every = {ref for group in groups.values() for ref in group}
    asked = {task.role[1] for task in prepare_named(AlignSpec())[1:]}
    assert asked == every > {*AlignSpec().models}
    seeds = ("zoo:seed-0", "zoo:seed-1")
    alone = prepare_named(AuditSpec(models=seeds, kind="seeds"))
    assert [(task.role[1], task.values["run"]) for task in alone] == [(ref, False) for ref in seeds]


def test_fewer_sentences_than_asked_for_are_said_to_be() -> None:
    corpus = read_text("upload:mine.txt", (), 200, TEXT)
    assert len(corpus.sentences) == 116
    assert corpus.notices == (fewer_sentences("upload:mine.txt", 116, 200),)
    assert re.findall(r"\d+", corpus.notices[0]) == ["116", "200"]
    assert read_text("upload:mine.txt", (), 100, TEXT).notices == ()
    assert read_text("upload:mine.txt", (), None, TEXT).notices == ()
    assert read_text("demo", (), 200).notices == ()
    assert len(read_text("demo", ("legal",), 100_000).notices) == 1


def test_a_sentence_is_read_once_and_copies_are_counted() -> None:
    lines = [b"The old man left.", b"The dog ran.", b"The old man left.", b"Birds sing."]
    corpus = read_text("upload:mine.txt", (), None, b"\n".join(lines * 2))
    assert [words[-2] for words in corpus.words] == ["left", "ran", "sing"]
    assert corpus.notices == (repeated_sentences("upload:mine.txt", 8, 5),)
    assert re.findall(r"\d+", corpus.notices[0]) == ["5", "8"]
    whole = read_text("upload:mine.txt", (), None, b"\n".join(lines), copies=True)
    assert (len(whole.sentences), whole.notices) == (4, ())


def test_no_included_sentence_is_a_copy() -> None:
    for name in ("demo", "demo-gold"):
        assert len({*read_text(name, (), None).words}) == len(read_corpus(name).words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "asked", "read"), [("demo", 60, 60), ("upload:mine.txt", 200, 116)]
)
def test_line_caption_and_record_give_one_number(
    tmp_path: Path, corpus: str, asked: int, read: int
) -> None:
    """With few words sampled some sentences hold none of them; they were read all the same."""
    model = f"path:{save_tiny(tmp_path / 'tiny', 'bert', max_position_embeddings=512)}"
    options = {"sentences": asked, "words": 40, "references": False}
    spec = RsaSpec(model, (f"random:{model}",), corpus=corpus, **options)
    result = study.STUDY.run(spec, {"upload:mine.txt": TEXT})
    assert result.sentences_read == result.provenance["corpus"]["sentences"] == read
    assert items_in_words(spec, 40, read) in result.methods
    assert f"{read} sentences" in summary(spec, result.sentences_read)
    assert (fewer_sentences(corpus, read, asked) in result.notices) == (read < asked)
