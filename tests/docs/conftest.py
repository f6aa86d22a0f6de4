"""The documentation reads the precomputed results that the walk of this worker has asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

from core.catalogue import STUDIES
from core.commands.precomputed import name_of, requests
from docs.make import figures, numbers, studies
from tests.core.shipped import walked


@pytest.fixture(scope="module", autouse=True)
def as_walked() -> Iterator[None]:
    """Results are not collected again for each page: a command's is that of its request, and the
    one that a study's page opens with is that of the study's first request."""
    run, read = numbers.result_of, figures.precomputed

    @wraps(run.__wrapped__)
    def result_of(command: str) -> Any:
        study, spec = numbers.asked_by(command)
        return walked().results.get(name_of(study.name, spec)) or run(command)

    @wraps(read.__wrapped__)
    def precomputed() -> dict[str, Any]:
        asked = reversed(requests().items())
        first = {study: request for request, (study, _) in asked}
        return {name: walked().results[first[name]] for name in STUDIES if name in first}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "result_of", result_of)
        for module in (figures, studies):
            patch.setattr(module, "precomputed", precomputed)
        yield
