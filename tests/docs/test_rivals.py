"""The table of claims and rivals names what exists, and leaves out no study and no section."""

from __future__ import annotations

import re

from core.catalogue import STUDIES
from core.options import options_of
from tests import ROOT

PAGE = (ROOT / "docs" / "rivals.md").read_text(encoding="utf8")
FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| claim")
]
OUTCOME = re.compile(r"(Holds|Falls|Open)\b")


def test_every_row_has_a_claim_a_rival_a_measurement_and_an_outcome() -> None:
    assert len(ROWS) > 50
    for row in ROWS:
        assert len(row) == 4
        assert all(row), row
        assert OUTCOME.match(row[3]), row


def test_a_rival_that_was_not_measured_is_open() -> None:
    for _, _, measured, outcome in ROWS:
        assert (measured == "–") <= outcome.startswith("Open"), outcome


def test_every_study_whose_headline_claims_something_has_a_row() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([a-z ]+)", row[2])}
    assert set(STUDIES) <= {name.strip() for name in named}


def test_what_measured_a_rival_exists() -> None:
    for _, _, measured, _ in ROWS:
        for name in re.findall(r"`benchmarks\.(\w+)", measured):
            assert (ROOT / "benchmarks" / f"{name}.py").is_file()
        for study, flag in re.findall(r"`([a-z ]+?) --([a-z-]+)", measured):
            assert flag.replace("-", "_") in {
                option.name for option in options_of(STUDIES[study].Spec)
            }


def test_every_section_of_the_findings_has_one_here() -> None:
    sections = re.findall(r"^## (.+)$", FINDINGS, re.MULTILINE)
    here = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    renamed = {"What models say": "Predictions and answers"}
    assert [renamed.get(section, section) for section in sections] == here[:-1]
