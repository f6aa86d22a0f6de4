"""The list of studies that are killed and started again."""

from core.catalogue import STUDIES
from tests.load import kills


def test_every_study_of_the_catalogue_is_killed() -> None:
    assert set(kills.STUDIES) == set(STUDIES)
