"""A reader's own minimal pairs: what is read, what is refused, and that they are scored alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.errors import CorpusError
from core.studies.probes.minimal_pairs.pairs_file import FEWEST_OWN, own_groups, own_pairs, read_own
from core.studies.probes.minimal_pairs.templates import joined_groups, make_pairs

GOOD = "The boys that the girl saw were happy.\tThe boys that the girl saw was happy.\n"
COUNT = 20


def saved(folder: Path, text: str) -> str:
    path = folder / "pairs.tsv"
    path.write_text(text, encoding="utf8")
    return str(path)


def test_the_region_begins_where_the_sentences_differ(tmp_path: Path) -> None:
    longer = "She didn't go.\tShe did not went there.\n"
    *_, first, second = own_pairs(read_own(saved(tmp_path, GOOD * FEWEST_OWN + longer)))
    assert first.good == ("The", "boys", "that", "the", "girl", "saw", "were", "happy", ".")
    assert first.region == 6
    assert (second.good, second.region) == (("She", "didn't", "go", "."), 1)


def test_pairs_with_the_same_differing_words_are_a_group(tmp_path: Path) -> None:
    other = "He saw these houses.\tHe saw this houses.\n"
    same = "A man that you met were happy.\tA man that you met was happy.\n"
    pairs = read_own(saved(tmp_path, (GOOD + other + same) * FEWEST_OWN))
    assert own_groups(pairs).tolist() == [0, 1, 0] * FEWEST_OWN


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD * 9, "pairs.tsv has 9 pairs: give 10 to 5,000."),
        (GOOD * 10 + "He left.\tHe left.\n", "line 11: the sentences are equal"),
        (GOOD * 10 + "He left\tHe left early\n", "one begins the other"),
        (GOOD * 10 + "no tab\n", "line 11: the line has 1 columns, but needs two"),
        (GOOD * 10 + "\tHe left.\n", "line 11: the acceptable is empty"),
    ],
)
def test_what_is_no_list_of_pairs_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as refused:
        read_own(saved(tmp_path, text))
    assert sentence in str(refused.value)


def test_no_file_of_a_shared_instance_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, GOOD * FEWEST_OWN)
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(CorpusError, match="leave --pairs_file empty"):
        read_own(path)


@pytest.mark.slow
def test_a_file_of_the_templates_pairs_has_their_scores(tmp_path: Path) -> None:
    study = STUDIES["probe behaviour"]
    pairs = make_pairs("agreement", COUNT)
    lines = (f"{' '.join(pair.good)}\t{' '.join(pair.bad)}\n" for pair in pairs)
    few = {"models": ("zoo:seed-0",), "probes": False}
    own = study.run(study.Spec(pairs_file=saved(tmp_path, "".join(lines)), **few))
    made = study.run(study.Spec(kinds=("agreement",), pairs=COUNT, **few))
    for name in ("behaviour", "behaviour_margins"):
        mine, theirs = (result.tables[name].drop(columns="kind") for result in (own, made))
        assert mine.equals(theirs)
    assert {*own.table["kind"]} == {"own"}
    assert int(own.table["groups"].iloc[0]) == len({*joined_groups({"agreement": COUNT})})
    assert f"{COUNT} minimal pairs of pairs.tsv" in own.methods
    assert study.figures(own)["behaviour-kinds"].to_dict()
