"""What the server itself has logged: a thread of another test may log at the same time."""

from __future__ import annotations

import pytest

from ui.server import refusals


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages of the server's own logger."""
    return [one.getMessage() for one in caplog.records if one.name == refusals.LOGGER.name]
