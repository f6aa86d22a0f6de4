"""Questions, passages and answers: the pair, the roles, and a span head at every layer against
transformers' own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from core.errors import listed
from core.models import load_model, load_tokenizer, load_with_head
from core.results.drawing.context import Context
from core.results.estimates import Estimate
from core.results.numbers import text_of
from core.studies.rsa.tokens import charts
from core.studies.rsa.tokens import study as tokens
from core.studies.rsa.tokens.questions import (
    ANSWER,
    OTHER,
    QUESTION,
    SUPPORTING,
    Passage,
    best_span,
    overlap,
    read_question,
    roles,
)
from core.studies.rsa.tokens.report import (
    ANSWERS,
    BY_CHANCE,
    CLOSER,
    EQUAL_SPANS,
    OVERLAP,
    SAME_SPAN,
    TOO_FEW,
    UNDECIDED,
    explained_statement,
    lowest_p,
    make_headline,
    nearness,
    nearness_statements,
    nearness_tables,
    said,
)
from core.studies.rsa.tokens.spec import ANSWER as ANSWER_TEXT
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.vectors.forward import cut_pair
from tests.core.hub_server import HubServer
from tests.core.studies.rsa.facts import stated, unnamed
from tests.core.tiny_models import LAYERS, plain_tokenizer, save_tiny, tiny_config, tiny_tokenizer

ASKED = "the old man went out"
TEXT = "the dog opened the door . the man went to a quiet room . things and things"
SPEC = {"passage": TEXT, "question": ASKED, "answer": "a quiet room"}


def save_spans(folder: Path, model_type: str = "bert", seed: int = 0) -> Path:
    """A tiny random model with a head for spans."""
    from transformers import AutoModelForQuestionAnswering

    tokenizer = tiny_tokenizer(model_type)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        AutoModelForQuestionAnswering.from_config(
            tiny_config(model_type, len(tokenizer))
        ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("questions")
    return {"spans": save_spans(folder / "spans"), "plain": save_tiny(folder / "plain")}


def test_answers_by_layer_end_with_the_models_own(box: dict[str, Path]) -> None:
    ref = f"path:{box['spans']}"
    question, words = tuple(ASKED.split()), tuple(TEXT.split())
    value = read_question(ref, "", question, words)
    assert value["vectors"].shape[:2] == (LAYERS + 1, len(question) + len(words))
    assert value["spans"].shape == (LAYERS + 1, 2)
    assert value["why"] == ""
    # The same by hand, a layer at a time, every pair of subwords tried.
    loaded, tokenizer = load_with_head(ref, device="cpu"), plain_tokenizer(ref)
    encoded = tokenizer(list(question), list(words), is_split_into_words=True, return_tensors="pt")
    output = loaded.model(**encoded, output_hidden_states=True)
    inside = [place for place, side in enumerate(encoded.sequence_ids()) if side == 1]
    for layer, hidden in enumerate(output.hidden_states):
        start, end = loaded.model.qa_outputs(hidden)[0, inside].log_softmax(0).T.tolist()
        best = max(
            (
                (start[a] + end[b], a, b)
                for a in range(len(inside))
                for b in range(a, min(a + 30, len(inside)))
            ),
        )
        owner = encoded.word_ids()
        assert value["spans"][layer].tolist() == [owner[inside[best[1]]], owner[inside[best[2]]]]
        assert value["chances"][layer] == pytest.approx(np.exp(best[0]), rel=1e-4)
    assert torch.equal(
        output.start_logits[0], loaded.model.qa_outputs(output.hidden_states[-1])[0, :, 0]
    )
    # The question changes what is answered and how its words look.
    other = read_question(ref, "", ("door", "dog"), words)
    assert not np.allclose(other["vectors"][-1, -1], value["vectors"][-1, -1])


def test_a_pair_is_read_with_its_segments_where_the_tokenizer_has_them(
    box: dict[str, Path], tmp_path: Path
) -> None:
    """A BERT of the hub learned the passage as the second segment; included models never saw that
    embedding."""
    folder = shutil.copytree(box["plain"], tmp_path / "segments")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf8"))
    settings["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf8")
    question, words = tuple(ASKED.split()), tuple(TEXT.split())
    cut, types = cut_pair(load_tokenizer(f"path:{folder}"), question, words)
    assert types is not None
    inside = [place for place, word in enumerate(cut.words) if word >= len(question)]
    assert {types[place] for place in inside} == {1}
    assert cut.words[inside[0]] == len(question)
    found = read_question(f"path:{folder}", "", question, words)["vectors"]
    model = load_model(f"path:{folder}", device="cpu").model
    with torch.inference_mode():
        hidden = model(
            input_ids=torch.tensor([cut.ids]),
            token_type_ids=torch.tensor([types]),
            output_hidden_states=True,
        ).hidden_states
    last = [place for place, word in enumerate(cut.words) if word == len(question)]
    assert np.allclose(
        found[:, len(question)], torch.stack(hidden)[:, 0, last].mean(1).numpy(), atol=1e-5
    )
    assert not np.allclose(
        found, read_question(f"path:{box['plain']}", "", question, words)["vectors"], atol=1e-3
    )


def test_the_best_span_is_no_backward_one() -> None:
    scores = np.full((6, 2), -9.0)
    scores[4, 0], scores[2, 1], scores[3, 0], scores[5, 1] = 5.0, 9.0, 4.0, 4.0
    inside = np.array([False, True, True, True, True, True])
    start, end, chance = best_span(scores, inside)
    assert (start, end) == (4, 5)
    assert 0 < chance < 0.05  # most of the end's probability lies before the start
    assert best_span(np.zeros((3, 2)), np.array([False, True, False])) == (1, 1, 1.0)


def test_roles_follow_the_answer_and_what_supports_it() -> None:
    passage = Passage(
        ("Where", "?"), ("It", "rained", ".", "He", "hid", "it", "."), (0, 0, 0, 1, 1, 1, 1)
    )
    found, notices = roles(passage, ("HID", "it"), ())
    assert found == [QUESTION] * 2 + [OTHER] * 3 + [SUPPORTING, ANSWER, ANSWER, SUPPORTING]
    assert notices == []
    found, _ = roles(passage, ("hid",), ("It", "rained"))
    assert found[2:5] == [SUPPORTING] * 3
    assert found[5:] == [OTHER, ANSWER, OTHER, OTHER]
    found, notices = roles(passage, ("ran", "away"), ())
    assert set(found[2:]) == {OTHER}
    assert notices == [said("missing_part", what="expected answer", words="ran away")]


def test_nearness_is_of_the_whole_space_leaves_shared_words_out_and_has_its_chance() -> None:
    words = ("where", "letter", "letter", "board", *(f"other{number}" for number in range(24)))
    given = [QUESTION, QUESTION, SUPPORTING, ANSWER, *[OTHER] * 24]
    vectors = np.zeros((2, 28, 3))
    vectors[0, 3, 0], vectors[0, 4:, 1] = 1.0, 4.0
    vectors[1, 3, 0], vectors[1, 4:, 1] = 4.0, 1.0
    ratios, p_value, spans = nearness(vectors, given, words)
    assert ratios.tolist() == [0.25, 4.0]  # the letter, at the origin, does not count
    assert (p_value, spans) == (1 / 25, 25)
    assert nearness(vectors[1:], given, words)[1] == 1.0
    made = nearness_statements({"zoo:a": vectors}, given, words)
    near = stated(made, CLOSER)
    assert (near.subject, near.layers, near.estimate) == ("zoo:a", (0,), Estimate(0.25))
    assert stated(made, BY_CHANCE, "zoo:a").estimate == Estimate(1 / 25, kind="p")
    made = nearness_statements({"zoo:a": vectors[:, :23]}, given[:23], words[:23])
    assert stated(made, BY_CHANCE, "zoo:a").estimate == Estimate(1 / 20, kind="p")
    assert stated(made, TOO_FEW)  # 20 spans: .05 at best, which is not below .05
    assert stated(nearness_statements({"zoo:b": vectors[1:]}, given, words), UNDECIDED)
    made = nearness_statements({"zoo:a": vectors, "zoo:b": vectors[1:]}, given, words)
    assert [each.verdict for each in made] == [
        TOO_FEW,
        BY_CHANCE,
        EQUAL_SPANS,
    ] * 2  # 2 / 25 is above .05
    assert nearness_tables(made)["nearness"]["corrected_p"].tolist() == [2 / 25, 1.0]
    shown = explained_statement(["zoo:a", "zoo:b"], 0.5)
    said = make_headline((*made, shown), pd.DataFrame({"model": []}), ["zoo:a", "zoo:b"], 28)
    assert not unnamed([shown, *made], said)
    assert said.count("25 spans") == 1
    assert "too few spans to detect" in said
    assert "; smallest p = .08 of 25 spans, corrected for 2 models)" in said
    assert np.isnan(nearness(vectors, [QUESTION] * 28, words)[1])
    assert nearness_statements({"zoo:a": vectors}, [QUESTION] * 28, words) == ()


def test_the_answer_alone_counts_and_without_it_the_supporting_sentence() -> None:
    """A far supporting sentence does not hide a close answer."""
    words = ("where", *(f"word{number}" for number in range(24)))
    given = [QUESTION, *[OTHER] * 10, SUPPORTING, SUPPORTING, ANSWER, *[OTHER] * 11]
    vectors = np.random.default_rng(0).normal(scale=0.01, size=(1, 25, 3))
    vectors[0, 1:, 0] += 4.0
    vectors[0, 11:13, 0], vectors[0, 13, 0] = 9.0, 1.0
    assert nearness(vectors, given, words)[1] == 1 / 24
    unanswered = [SUPPORTING if role == ANSWER else role for role in given]
    assert nearness(vectors, unanswered, words)[1] > 0.05


def test_no_layer_with_a_wide_spread_decides_alone() -> None:
    rng = np.random.default_rng(0)
    ratios = 1 + np.stack([rng.normal(scale=0.3, size=40), rng.normal(scale=0.01, size=40)], axis=1)
    ratios[0] = [1.0, 0.9]
    assert lowest_p(ratios) == 1 / 40
    assert lowest_p(ratios, standardise=False) > 0.2


def test_overlap_is_squads_f1() -> None:
    assert overlap(("the", "Old", "door"), ("old", "door")) == pytest.approx(0.8)
    assert overlap(("a", "a"), ("a",)) == pytest.approx(2 / 3)
    assert overlap(("x",), ("y",)) == 0
    assert np.isnan(overlap(("x",), ()))


def test_a_map_of_a_question_colours_it_and_rings_what_is_answered(
    box: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A span model of the hub beside one without a head, which is drawn and said to answer
    nothing."""
    with HubServer() as hub:
        hub.add("someone/spans", box["spans"])
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        spec = TokenMapSpec(("hub:someone/spans", f"path:{box['plain']}"), **SPEC)
        result = tokens.STUDY.run(spec)
    assert not result.failures
    table, spans = result.table, result.tables["spans"]
    assert set(table["role"]) == {QUESTION, ANSWER, SUPPORTING, OTHER}
    assert table[table["role"] == ANSWER]["word"].unique().tolist() == ["a", "quiet", "room"]
    assert set(spans["model"]) == {"hub:someone/spans"}
    assert spans["layer"].tolist() == list(range(LAYERS + 1))
    top = spans.iloc[-1]
    assert top["span"] == " ".join(TEXT.split()[top["first"] : top["last"] + 1])
    ringed = table[(table["layer"] == LAYERS) & table["predicted"]]["word"].tolist()
    assert " ".join(ringed) == top["span"]
    answered = stated(result.statements, ANSWERS)
    assert (answered.subject, answered.layers) == ("hub:someone/spans", (LAYERS,))
    assert answered.estimate == Estimate(top["chance"], kind="probability")
    assert stated(result.statements, OVERLAP).estimate == Estimate(top["f1"])
    places = list(zip(spans["first"], spans["last"], strict=True))
    since = max([place + 1 for place, span in enumerate(places) if span != places[-1]], default=0)
    assert stated(result.statements, SAME_SPAN).layers == tuple(range(since, LAYERS + 1))
    assert answered.named_in(result.headline)
    assert f"“{top['span']}”" in result.headline
    assert said("no_span_head", model=f"path:{box['plain']}") in result.notices
    for model in spec.models:
        drawn = charts.token_chart(result, LAYERS, model).to_dict()
        assert ("rings" in str(drawn["title"])) == model.startswith("hub")
        assert ("datum.predicted" in str(drawn["layer"])) == model.startswith("hub")
    for layer, chance in enumerate(spans["chance"]):
        drawn = charts.token_chart(result, layer, "hub:someone/spans").to_dict()
        sure = f"its answer at this layer (probability {text_of(chance, 'probability')}"
        assert sure in str(drawn["title"])
    moving = Context(zooms=True, moves=True)  # words of all layers are in one chart
    drawn = charts.token_chart(result, LAYERS, "hub:someone/spans", context=moving).to_dict()
    assert "its answer at this layer" in str(drawn["title"])
    assert "probability" not in str(drawn["title"])


def test_an_answer_that_is_not_in_the_passage_is_no_score(box: dict[str, Path]) -> None:
    spec = TokenMapSpec((f"path:{box['spans']}",), TEXT, question=ASKED, answer="a zebra")
    result = tokens.STUDY.run(spec)
    assert result.caution == said("missing_part", what="expected answer", words="a zebra")
    assert result.tables["spans"]["f1"].isna().all()
    assert "F1" not in result.headline


def test_without_a_question_none_is_said_to_be_asked(box: dict[str, Path]) -> None:
    for question, asked in ((ASKED, True), ("", False)):
        spec = TokenMapSpec((f"path:{box['spans']}",), TEXT, question=question)
        result = tokens.STUDY.run(spec)
        assert result.headline.startswith(said("unasked")) != asked
        assert bool(result.caution) == asked  # the default answer is not in this passage


def test_the_default_question_is_drawn_with_a_model_of_the_box() -> None:
    result = tokens.STUDY.run(TokenMapSpec(("zoo:seed-0",)))
    assert not result.failures
    answer = result.table[(result.table["layer"] == 0) & (result.table["role"] == ANSWER)]["word"]
    assert " ".join(answer) == ANSWER_TEXT
    readers = ["zoo:qa-0", "zoo:qa-1", "zoo:qa-2"]
    assert result.notices == (
        said("no_span_head", model="zoo:seed-0"),
        said("these_answer", models=listed(readers)),
    )
    assert len(result.tables["spans"]) == 0
