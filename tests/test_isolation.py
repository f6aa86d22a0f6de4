"""What one test leaves in the environment does not reach the next; both run in this order."""

from __future__ import annotations

import os

import pytest

from core.limits import MODE, current_limits, share_beyond_loopback

LEAVES = ("PALIMPSEST_SCHEDULER", MODE)


def test_code_that_a_test_runs_writes_into_the_environment() -> None:
    share_beyond_loopback("0.0.0.0")
    os.environ["PALIMPSEST_SCHEDULER"] = "tcp://nowhere:1"
    assert current_limits().shared


@pytest.fixture(scope="module")
def found() -> list[str]:
    """Made before the fixtures of the test that asks for it, as the models of many modules are."""
    return [name for name in LEAVES if name in os.environ]


def test_none_of_it_is_there_when_the_next_module_fixture_is_made(found: list[str]) -> None:
    assert found == []
