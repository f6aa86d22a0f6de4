"""What the bijection check states: errors of the best map and its rivals, at the largest number of
blocks."""

from __future__ import annotations

import pandas as pd

from core.maths.maps.bijections import FORMS
from extras.alignment.check.spec import TRUTHS
from extras.alignment.check.text import BEST, COMPARED, make_headline, statements_of


def table(**errors: tuple[float, float]) -> pd.DataFrame:
    """Errors on two forms at four blocks, and 0 at none."""
    rows = [
        (form, blocks, method, error if blocks else 0.0, 0.0)
        for method, pair in errors.items()
        for form, error in zip(("bend", "coupling"), pair, strict=True)
        for blocks in (0, 4)
    ]
    return pd.DataFrame(rows, columns=["truth", "blocks", "method", "nmse", "inverse_error"])


def test_every_form_is_described() -> None:
    assert TRUTHS.keys() == FORMS.keys()


def test_the_best_map_of_each_form_is_stated_with_its_rivals() -> None:
    facts = statements_of(table(kernel=(0.2, 0.4), inn=(0.3, 0.1), identity=(2.0, 2.0)))
    assert {
        (fact.subject, fact.baseline): (fact.verdict, fact.estimate.value) for fact in facts
    } == {
        ("kernel", "bend"): (BEST, 0.2),
        ("inn", "coupling"): (BEST, 0.1),
        ("kernel", "coupling"): (COMPARED, 0.4),
        ("inn", "bend"): (COMPARED, 0.3),
    }
    assert all(fact.named_in(make_headline(facts)) for fact in facts)


def test_one_map_alone_has_no_rivals() -> None:
    facts = statements_of(table(ridge=(0.2, 0.4)))
    assert {fact.verdict for fact in facts} == {BEST}
    assert all(fact.named_in(make_headline(facts)) for fact in facts)


def test_without_a_map_nothing_is_stated() -> None:
    assert statements_of(table()) == ()
