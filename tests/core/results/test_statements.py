"""A headline's facts: written, read again, and found in the sentence that is made of them."""

import json
import math

import pytest

from core.results.estimates import Estimate
from core.results.statements import Statement

RISES = Statement(
    "zoo:parse-0",
    "differs",
    Estimate(-5.24, -8.0, -2.6, kind="gain"),
    (2, 3),
    "the untrained model",
)


@pytest.mark.parametrize("statement", [RISES, Statement("zoo:parse-0", "no model")])
def test_it_is_read_as_it_was_written(statement):
    assert Statement.from_record(json.loads(json.dumps(statement.as_record()))) == statement


def test_a_missing_band_stays_missing():
    record = json.loads(
        json.dumps(Statement("a", "differs", Estimate(0.5)).as_record(), allow_nan=False)
    )
    read = Statement.from_record(record).estimate
    assert read is not None
    assert math.isnan(read.low)
    assert math.isnan(read.high)


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("It lies 5.2 points [2.6, 8.0] below.", True),
        ("The difference is −5.2 points [−8.0, −2.6].", True),
        ("It lies 5.3 points below.", False),
    ],
)
def test_a_sentence_names_the_number_with_or_without_its_sign(sentence, named):
    assert RISES.named_in(sentence) == named


@pytest.mark.parametrize(
    "record", [{}, {"subject": "a"}, {"subject": "a", "verdict": "b", "estimate": 3, "layers": []}]
)
def test_what_is_no_statement_is_refused(record):
    with pytest.raises((TypeError, KeyError, AttributeError)):
        Statement.from_record(record)
