"""Data sets in names: what repositories are called, and what only looks like one."""

from __future__ import annotations

import pytest

from core.models.hub.listing import label_of
from core.models.hub.names import data_in_name


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("textattack/bert-base-uncased-MNLI", "mnli"),
        ("yoshitomo-matsubara/bert-base-uncased-sst2", "sst2"),
        ("someone/bert-sst-2-distilled", "sst2"),
        ("deepset/bert-base-uncased-squad2", "squad_v2"),
        ("csarron/bert-base-uncased-squad-v1", "squad"),
        ("someone/bert_squad_v2.0", "squad_v2"),
        ("fabriceyhc/bert-base-uncased-ag_news", "ag_news"),
        ("someone/bert-stsb", "stsb"),
        ("dslim/bert-base-conll03", "conll2003"),
        ("squad/bert-base", ""),  # the owner says nothing
        ("someone/bert-vertex-colander", ""),  # parts of other words
        ("someone/bert-mnli-squad", ""),  # two at once
        ("bert-base-uncased", ""),
        ("bert-finetuned-sentiment", ""),  # a task, no data set
    ],
)
def test_names_tell_of_data_sets(name: str, data: str) -> None:
    assert data_in_name(name) == data


def test_the_card_goes_first_and_it_is_said_which() -> None:
    assert label_of("org/bert-mnli", ("glue/sst2", "imdb")) == ("imdb + sst2", "card")
    assert label_of("org/bert-mnli", ()) == ("mnli", "name")
    assert label_of("org/bert-mine", ()) == ("", "")
