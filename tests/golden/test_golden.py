"""Nothing that a study says of stored outputs changes unless it is meant to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.commands.precomputed import ON_REQUEST
from tests.golden.collected import changes, digests
from tests.golden.computed import SMALL
from tests.golden.digest import array_digest, differences, table_digest

MADE_BY = "if that is meant, write them anew with `python -m tests.golden`"


@pytest.mark.slow
def test_every_study_says_what_it_said() -> None:
    new = digests()
    studies = {name.split(" models=")[0].split(" compare=")[0] for name in new}
    assert studies >= set(STUDIES) - {*ON_REQUEST}
    assert changes(new) == [], MADE_BY


def test_every_study_can_be_computed_small() -> None:
    assert set(SMALL) == set(STUDIES)
    for name, options in SMALL.items():
        STUDIES[name].Spec(**options)


def test_a_changed_number_a_swapped_row_and_another_text_are_seen() -> None:
    table = pd.DataFrame({"x": [0.1, 0.2, 0.3], "model": ["a", "b", "c"], "n": [1, 2, 3]})
    base = table_digest(table)
    assert list(differences(base, table_digest(table.copy()))) == []
    nearly = table.assign(x=table["x"] + 1e-12)
    assert list(differences(base, table_digest(nearly))) == []
    for changed, column in (
        (table.assign(x=[0.1, 0.2, 0.3000001]), "x"),
        (table.assign(x=[0.2, 0.1, 0.3]), "x"),
        (table.assign(x=[0.1, np.nan, 0.3]), "x"),
        (table.assign(n=[1.0, 2.0, 3.0]), "n"),
        (table.assign(model=["a", "b", "d"]), "model"),
        (table.rename(columns={"n": "m"}), "n"),
    ):
        assert any(f"/{column}" in place for place in differences(base, table_digest(changed)))


def test_a_changed_array_is_seen() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert list(differences(array_digest(array), array_digest(array + 1e-12))) == []
    assert list(differences(array_digest(array), array_digest(array.T)))
    assert list(differences(array_digest(array), array_digest(array[::-1])))
