"""A sweep's file: combinations, names, and one clear sentence for what is wrong in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.errors import SpecError
from core.options.layer_numbers import EVERY_LAYER
from core.studies.rsa.layers.spec import RsaSpec
from core.sweep import grid
from core.sweep.grid import Sweep, read_sweep
from tests.core.sweep.naps import napping  # noqa: F401

pytestmark = pytest.mark.usefixtures("napping")


def sweep_of(folder: Path, text: str) -> Sweep:
    path = folder / "some.yaml"
    path.write_text(text, encoding="utf8")
    return read_sweep(path)


def test_lists_are_crossed_and_single_values_are_the_same_everywhere(tmp_path: Path) -> None:
    sweep = sweep_of(
        tmp_path,
        """
        study: rsa
        compare: [zoo:parse-0, [zoo:nli-0, zoo:nli-1]]
        measure: [rsa, cka-debiased]
        pool-runs: false
        drop_influential: 0
        words: "100"
        """,
    )
    specs = [cell.spec for cell in sweep.cells]
    assert specs == [
        RsaSpec(compare=compare, measure=measure, pool_runs=False, words=100)
        for compare in (("zoo:parse-0",), ("zoo:nli-0", "zoo:nli-1"))
        for measure in ("rsa", "cka-debiased")
    ]
    assert sweep.name == "some"
    assert sweep.cells[2].name == "rsa: compare zoo:nli-0 zoo:nli-1, measure rsa"
    assert len({cell.key for cell in sweep.cells}) == 4
    assert sweep.cells[0].models == ("zoo:seed-0", "zoo:parse-0")
    again = sweep_of(
        tmp_path, "study: rsa\nmeasure: rsa\ncompare: zoo:parse-0\nwords: 100\npool_runs: false"
    )
    assert again.cells[0].key == sweep.cells[0].key, (
        "a cell is its options, however they are written"
    )


def test_on_and_off_without_quotes_are_the_choices_of_that_name(tmp_path: Path) -> None:
    plain = sweep_of(tmp_path, "study: probe\nposition: [on, off, auto]\nuntrained: off")
    quoted = sweep_of(tmp_path, "study: probe\nposition: ['on', 'off', auto]\nuntrained: false")
    assert [cell.key for cell in plain.cells] == [cell.key for cell in quoted.cells]
    assert [cell.spec.position for cell in plain.cells] == ["on", "off", "auto"]
    with pytest.raises(SpecError, match=r"measure takes one of .*, not on"):
        sweep_of(tmp_path, "study: rsa\nmeasure: on")


def test_several_studies_share_a_file_and_a_cell_counts_once(tmp_path: Path) -> None:
    sweep = sweep_of(
        tmp_path,
        """
        - &nap {study: nap, seed: [1, 2, 2], layers: [all, 3, [4, 5]]}
        - {<<: *nap, seed: 1}
        - study: nap
          table: beside
          seed: 1
        - study: rsa
        """,
    )
    assert sweep.studies == ("nap", "rsa")
    assert len(sweep.cells) == 2 * 3 + 1 + 1
    assert [cell.spec.layers for cell in sweep.cells[:3]] == [(EVERY_LAYER,), (3,), (4, 5)]
    assert sweep.cells[-2].table == "beside"
    assert sweep.cells[-1].name == "rsa"


def test_a_pattern_in_a_list_is_a_cell_for_each_model_and_alone_it_is_one_value(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = sweep_of(tmp_path, "study: nap\nmodel: ['zoo:nli-?']\nmodels: ['zoo:seed-?']")
    assert [cell.models for cell in apart.cells][:2] == [
        ("zoo:nli-0", "zoo:seed-0"),
        ("zoo:nli-0", "zoo:seed-1"),
    ]
    assert len(apart.cells) == 3 * 2
    together = sweep_of(tmp_path, "study: nap\nmodels: 'zoo:seed-?'")
    assert [cell.models for cell in together.cells] == [("zoo:a", "zoo:seed-?")]
    seeds = sweep_of(tmp_path, "study: nap\nmodel: ['hub:google/multiberts-seed_*']")
    assert len(seeds.cells) == 25
    monkeypatch.setattr(grid, "matching_refs", lambda text: [text.replace("?", n) for n in "01"])
    steps = sweep_of(tmp_path, "study: nap\nmodel: ['hub:lab/run@step?']")
    assert len(steps.cells) == 2


def test_values_that_do_not_go_together_are_the_failure_of_their_cell(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, "study: nap\ngoes: [well, badly]\nseed: [1, 13]")
    assert [cell.spec is None for cell in sweep.cells] == [False, False, False, True]
    assert "seed 13" in sweep.cells[3].problem
    assert len({cell.key for cell in sweep.cells}) == 4
    with pytest.raises(SpecError, match=r"some\.yaml: .*seed 13"):
        sweep_of(tmp_path, "study: nap\ngoes: badly\nseed: 13")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("study: rsa\ntexts: demo", "The study rsa has no option 'texts'; the nearest is 'corpus'"),
        ("study: rsa\nmeasures: rsa", "no option 'measures'; the nearest is 'measure'"),
        ("study: align\nmethod: ridge", "no option 'method'; the nearest is 'methods'"),
        ("study: nap\nzzzz: 1", "no option 'zzzz': choose one of model, models, layers, corpus"),
        ("study: rse", "no study 'rse'; the nearest is 'rsa'"),
        ("study: rsa\nseed: [1, two]", "seed takes a whole number from 0 to 2,147,483,647, not two"),
        ("study: rsa\nmeasure: [rsa, {a: 1}]", "measure takes one of"),
        ("study: rsa\nseed: [[1, 2]]", "seed takes a whole number"),
        ("study: rsa\nseed: 1.5", "seed takes a whole number"),
        ("study: rsa\nreferences: maybe", "references takes true or false, not maybe"),
        ("study: align\nmodels: [zoo:a, zoo:b]", r"at least 2 .* into a list of their own, as in \[\[a, b\]\]"),
        ("study: rsa\nseed: []", "seed has no value"),
        ("study: rsa\nseed:", "seed has no value"),
        ("study: rsa\ncompare: [nonsense]", "'nonsense' is not a model reference"),
        ("study: rsa\nseed: 1\nseed: 2", "has the key 'seed' twice, again in line 3"),
        ("- study: rsa\n  goes: &a {b: [*a]}\n  base: {c: 1, c: 2}", "has the key 'c' twice, again in line 3"),
        ("study: rsa\ncompare: &a [*a]", "compare takes"),
        ("study: [rsa", "not valid YAML in line"),
        ("study: !!python/name:os.system", "not valid YAML"),
        ("", "with the key 'study'"),
        ("- rsa", "with the key 'study'"),
        ("seed: 1", "with the key 'study'"),
        ("study: nap\nseed: [" + ", ".join(map(str, range(200))) + "]\nsteps: [" + ", ".join(map(str, range(200))) + "]", "40,000 cells"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence) as error:
        sweep_of(tmp_path, text)
    assert "some.yaml" in str(error.value)


def test_a_file_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        read_sweep(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not UTF-8"):
        read_sweep(tmp_path / "bytes.yaml")
    with monkeypatch.context() as small:
        small.setattr(grid, "LARGEST_FILE", 3)
        with pytest.raises(SpecError, match="too large"):
            sweep_of(tmp_path, "study: rsa")
    monkeypatch.setattr(grid, "MOST_CELLS", 3)
    with pytest.raises(SpecError, match="4 cells"):
        sweep_of(tmp_path, "- {study: nap, seed: [1, 2]}\n- {study: nap, seed: [3, 4]}")


def test_every_study_can_be_swept_over_its_seed_or_models(tmp_path: Path) -> None:
    for name in STUDIES:
        (cell,) = sweep_of(tmp_path, f"study: {name}").cells
        assert cell.spec == STUDIES[name].Spec()


@pytest.mark.parametrize(
    ("line", "value"),
    [("seed: 030", 30), ("seed: 08", 8), ("seed: '7'", 7), ("words: 1000", 1000)],
)
def test_a_number_is_what_a_person_reads(tmp_path: Path, line: str, value: int) -> None:
    (cell,) = sweep_of(tmp_path, f"study: rsa\n{line}").cells
    assert cell.setting[line.split(":")[0]] == value


@pytest.mark.parametrize("number", ["1:1:1", "0o30", "0x1F", "0b11", "1_000", "!!int '7'", "~"])
def test_a_number_that_only_a_reader_of_yaml_reads_is_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(SpecError, match=r"seed takes a whole number|valid YAML|has no value"):
        sweep_of(tmp_path, f"study: rsa\nseed: {number}")


def test_words_stay_words(tmp_path: Path) -> None:
    (cell,) = sweep_of(
        tmp_path, "study: tokens\nhighlight: [[no, 007, 2001-01-01, 'on', 1e3]]"
    ).cells
    assert cell.setting["highlight"] == ("no", "007", "2001-01-01", "on", "1e3")


@pytest.mark.slow
def test_a_key_in_two_spellings_and_long_files_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="twice, again in line 3"):
        sweep_of(tmp_path, "study: rsa\npool-runs: true\npool_runs: false")
    began = time.process_time()
    most = grid.LARGEST_FILE - 100
    for value in ("1" + ":1" * (most // 2), "!!int 1" + ":1" * (most // 2 - 4)):
        with pytest.raises(SpecError, match=r"seed takes|valid YAML"):
            sweep_of(tmp_path, f"study: rsa\nseed: {value}")
    keys = "\n".join(f"a{number}: 1" for number in range(5_000))
    with pytest.raises(SpecError, match="no option 'a0'"):
        sweep_of(tmp_path, f"study: rsa\n{keys}")
    nested = "[&a [1, 2]" + "".join(
        f", &{after} [*{before}, *{before}]"
        for before, after in zip(
            "abcdefghijklmnopqrstuvwx", "bcdefghijklmnopqrstuvwxy", strict=True
        )
    )
    with pytest.raises(SpecError, match="seed takes"):
        sweep_of(tmp_path, f"study: rsa\nseed: {nested}]")
    assert time.process_time() - began < 10
