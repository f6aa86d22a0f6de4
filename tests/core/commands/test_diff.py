"""The report of a pair: studies that fit are run, the others give a reason."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.commands import diff, pair, pair_page
from core.commands import main as cli
from core.commands.output import Stream
from core.commands.pair import (
    INTRUDERS,
    NO_COMMON_BASE,
    OF_A_CHANGE,
    PARTS,
    PROBES,
    SIMILARITY,
    WEIGHTS,
    check_pair,
    further_commands,
    run_pair,
    specs_of,
)
from core.commands.pair_page import WORDS, make_figures, make_page, make_sentences
from core.models import read_manifest
from core.results.export import Result, draw_figures
from core.results.names import short_name
from core.results.numbers import text_of
from tests.core.models.weights.test_adapters import QUERY, factors_of, write_adapter
from tests.core.small_zoo import CONFIG, base_tensors, write_model, write_zoo


def words_of(sentence: str) -> set[str]:
    """The words of a sentence, without its punctuation."""
    return {word.strip(".,:;()") for word in sentence.split()}


@pytest.fixture(scope="module")
def zoo_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models with weights and without tokenizers: only the weights can be read."""
    return write_zoo(tmp_path_factory.mktemp("zoo"), runs=1)


@pytest.fixture
def zoo(zoo_on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(zoo_on_disk))
    return zoo_on_disk


def test_a_fine_tune_is_taken_for_one_and_another_seed_is_not(zoo: Path, tmp_path: Path) -> None:
    tuned, seed = check_pair("zoo:seed-0", "zoo:nli-0"), check_pair("zoo:seed-0", "zoo:seed-1")
    assert tuned.related
    assert not seed.related
    for check in (tuned, seed):
        assert {short_name(ref) for ref in (check.base, check.model)} <= words_of(check.sentence)
        assert text_of(check.relation["distance"], "per cent") in check.sentence
        assert text_of(check.relation["unrelated"], "per cent") in check.sentence
    assert seed.relation["distance"] == pytest.approx(seed.relation["unrelated"], rel=0.05)
    assert seed.cost.seconds < tuned.cost.seconds
    copy = shutil.copytree(zoo / "models" / "seed-0", tmp_path / "copy")
    same = check_pair("zoo:seed-0", f"path:{copy}")
    assert same.relation["distance"] == 0
    assert same.sentence not in (tuned.sentence, seed.sentence)
    assert "%" not in same.sentence


def test_an_adapter_as_the_base_has_an_unrelated_model_to_compare_with() -> None:
    assert read_manifest(), "the box has no models yet: make zoo"
    assert pair._unrelated("zoo:parse-0-lora-8") == pair._unrelated("zoo:parse-0") != ""


def test_a_model_has_no_report_on_itself(
    zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert cli.main(["diff", "zoo:seed-0", "zoo:seed-0", "--out", str(out)]) == 2
    assert "zoo:seed-0 cannot be compared with itself" in capsys.readouterr().err
    assert not out.exists()


def test_two_seeds_of_the_box_are_told_so_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if not {"zoo:seed-0", "zoo:seed-1"} <= {entry["ref"] for entry in read_manifest()}:
        pytest.skip("the box has no models yet: make zoo")
    assert (
        cli.main(["diff", "zoo:seed-0", "zoo:seed-1", "--check", "--out", str(tmp_path / "out")])
        == 0
    )
    said, check = capsys.readouterr(), check_pair("zoo:seed-0", "zoo:seed-1")
    assert not check.related
    sentence, *studies = said.out.splitlines()
    assert sentence == check.sentence
    assert studies == diff.describe_parts(check)
    assert [line.partition(":")[0] for line in studies] == [*PARTS.values()]
    assert sum(NO_COMMON_BASE in line for line in studies) == len(OF_A_CHANGE)
    assert sum("second" in line for line in studies) == len(PARTS) - len(OF_A_CHANGE)
    price, start = said.err.strip().splitlines()
    assert price == check.cost.sentence
    assert start.endswith(f"diff zoo:seed-0 zoo:seed-1 --out {tmp_path / 'out'}")  # short: no --yes
    assert not (tmp_path / "out").exists()


@pytest.mark.exhaustive
def test_what_cannot_be_run_is_said_and_the_rest_is_there(
    zoo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = zoo.parent / "pair"
    assert cli.main(["diff", "zoo:seed-0", "zoo:nli-0", "--out", str(out)]) == 0
    said = capsys.readouterr()
    check = check_pair("zoo:seed-0", "zoo:nli-0")
    parts = {part.name: part for part in run_pair(check)}
    assert f"{SIMILARITY} was not run: {parts[SIMILARITY].reason}" in said.err
    first, *findings, written = said.out.splitlines()
    assert first == check.sentence
    assert findings == [" ".join(make_sentences(check, [*parts.values()])[1:])]
    assert written.startswith("Written: ")
    (further,) = further_commands(check)
    assert "align barrier --models zoo:seed-0 zoo:nli-0" in further
    assert further in said.err
    assert further_commands(check_pair("zoo:seed-0", "zoo:seed-1")) == []
    assert check.cost.sentence not in said.err  # a short report is not priced, a long one once
    page = (out / "report.html").read_text(encoding="utf8")
    assert html.escape(further, quote=False) in page
    lead = re.search("<p class=lead>(.*?)</p>", page)
    assert lead
    assert html.unescape(lead[1]) == " ".join(make_sentences(check, [*parts.values()]))
    assert page.count("<img ") == 3  # size, rank, intruders
    assert (
        'alt="Relative size of the update by matrix, median 8.7 %. Heatmap of relative size, '
        in page
    )
    assert 'alt="Legend: ' in page
    assert page.count("<p class=notice>") == len(specs_of(check)) - 2
    assert f"python -m core diff zoo:seed-0 zoo:nli-0 --out {out}" in page
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert {path.name for path in out.iterdir()} >= {
        "size.svg",
        "rank.svg",
        "intruders.svg",
        "weights",
    }


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no file that is always full")
def test_the_report_is_written_where_the_output_is_full(
    zoo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = [pair.Part(name, "", reason="Not today.") for name in (SIMILARITY, WEIGHTS)]
    monkeypatch.setattr(diff, "run_pair", lambda *_, **options: parts)
    monkeypatch.setattr(pair_page, "make_sentences", lambda *_: ["A pair.", "What it shows."])
    out = tmp_path / "out"
    with Path("/dev/full").open("w", encoding="utf8") as full:
        monkeypatch.setattr("sys.stdout", Stream(full, True))
        assert cli.main(["diff", "zoo:seed-0", "zoo:nli-0", "--out", str(out)]) == 2
    assert "files that the command writes are complete" in capsys.readouterr().err
    assert (out / diff.PAGE).is_file()


def test_the_sentences_are_those_of_the_numbers(zoo: Path) -> None:
    check = check_pair("zoo:seed-0", "zoo:nli-0")
    parts = {part.name: part for part in run_pair(check)}
    weights, intruders = parts[WEIGHTS].result, parts[INTRUDERS].result
    assert weights is not None
    assert intruders is not None
    said = " ".join(make_sentences(check, list(parts.values())))
    assert text_of(weights.table["relative_delta"].iloc[0], "per cent") in said
    whole = intruders.table.query("family == 'all'").iloc[0]
    assert f"({whole['intruders']} of {whole['looked']} directions, " in said
    for name in (SIMILARITY, PROBES):
        assert parts[name].result is None
        assert parts[name].reason


def test_the_report_of_one_fine_tune_does_not_ask_for_more(zoo: Path) -> None:
    """One model has no neighbours; that it cannot be scored is no news of this pair."""
    check = check_pair("zoo:seed-0", "zoo:nli-0")
    parts = [part for part in run_pair(check) if part.name == WEIGHTS]
    page = make_page(check, parts, {}, {}, "the command").decode()
    assert WORDS[WEIGHTS]["title"] in page
    assert "Neighbours" not in page
    assert "--labels" not in page


def test_a_study_that_found_nothing_to_do_is_not_one_that_ran(
    zoo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that cannot be scored brings an empty table and says why."""
    check = check_pair("zoo:seed-0", "zoo:nli-0")
    count = len(specs_of(check))
    empty = Result(
        "any", {}, "Nothing.", {"any": pd.DataFrame()}, notices=("It cannot be scored.",)
    )

    idle = {
        name: SimpleNamespace(Spec=study.Spec, price=study.price, run=lambda spec, **options: empty)
        for name, study in STUDIES.items()
    }
    monkeypatch.setattr(pair, "STUDIES", idle)
    parts = run_pair(check)
    assert [part.reason for part in parts] == ["It cannot be scored."] * count
    assert make_sentences(check, parts) == [check.sentence]
    assert make_figures(parts) == {}


def test_two_seeds_have_no_change_to_measure(zoo: Path) -> None:
    parts = {part.name: part for part in run_pair(check_pair("zoo:seed-0", "zoo:seed-1"))}
    assert parts[WEIGHTS].reason == parts[INTRUDERS].reason == NO_COMMON_BASE


def test_a_check_says_that_a_model_without_a_head_is_not_swapped(zoo: Path) -> None:
    *_, swapped = diff.describe_parts(check_pair("zoo:seed-0", "zoo:nli-0"))
    assert swapped.startswith("swap: zoo:nli-0 has no head")


@pytest.mark.exhaustive
def test_another_architecture_and_an_adapter_are_said(zoo: Path, tmp_path: Path) -> None:
    other = write_model(
        tmp_path / "other",
        base_tensors(),
        {**CONFIG, "num_hidden_layers": 3, "model_type": "roberta"},
    )
    check = check_pair("zoo:seed-0", f"path:{other}")
    assert not check.related
    assert check.relation["reason"]
    assert check.relation["reason"] in check.sentence
    assert {"bert", "roberta"} <= words_of(check.sentence)
    adapter = write_adapter(tmp_path / "lora", factors_of(QUERY, (32, 32), 4, 0))
    check = check_pair("zoo:seed-0", f"path:{adapter}")
    assert check.relation["adapter"]
    assert {"lora", "LoRA"} <= words_of(check.sentence)
    trained = {"base_model_name_or_path": "zoo:seed-1"}
    other = write_adapter(tmp_path / "elsewhere", factors_of(QUERY, (32, 32), 4, 0), **trained)
    sentence = check_pair("zoo:seed-0", f"path:{other}").sentence
    assert "a LoRA adapter of zoo:seed-1, whose weights are not those of seed-0" in sentence
    assert "adds the product" in check_pair("zoo:seed-1", f"path:{other}").sentence
    parts = {part.name: part for part in run_pair(check)}
    assert "tokenizer.json is missing" in parts[SIMILARITY].reason
    assert parts[WEIGHTS].result is not None
    assert parts[INTRUDERS].result is not None
    charts = make_figures(list(parts.values()))
    page = make_page(
        check, list(parts.values()), charts, draw_figures(charts), "the command"
    ).decode()
    assert "35 of 36" not in page
    assert "17 of 18 matrices are unchanged" in page


def test_every_part_that_there_is_has_its_study() -> None:
    from core.commands.pair import PARTS

    assert {PARTS[name] for name in (SIMILARITY, WEIGHTS, INTRUDERS, PROBES)} <= set(STUDIES)
