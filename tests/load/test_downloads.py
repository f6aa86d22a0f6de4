"""Downloads while other sessions wait for a study: their panels redraw twice a second, and take
nothing away."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.browser.server import serve
from tests.load.tab import Tab, run_alone

WAITING = 6
KINDS = ("CSV", "Parquet", "SVG", "PNG")
BEGINNINGS = {"CSV": b"model,", "Parquet": b"PAR1", "SVG": b"<svg", "PNG": b"\x89PNG"}
READY = {"sentences": 20, "words": 40, "compare": "zoo:parse-0", "references": "false"}
# starts without being asked for, however slow the machine; outlasts the downloads
LONG = {"models": ["zoo:seed-0", "zoo:seed-1"], "sentences": 450}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_twenty_downloads_in_a_row_while_six_sessions_wait(tmp_path: Path) -> None:
    with serve(tmp_path) as address:
        run_alone(_download_beside_waiting(address))


async def _download_beside_waiting(address: str) -> None:
    async with AsyncExitStack() as tabs:
        reader = await tabs.enter_async_context(Tab(address))
        await reader.open("rsa", **READY)
        await reader.until(lambda tab: tab.settled and tab.charts())
        waiting = [await tabs.enter_async_context(Tab(address)) for _ in range(WAITING)]
        for tab in waiting:
            await tab.open("probe_trees", **LONG)
        for tab in waiting:
            await tab.until(lambda tab: tab.of_type("progress"))
        for kind in (*KINDS, *["CSV"] * (20 - len(KINDS))):
            content = await reader.download(
                kind, pause=0.3
            )  # a slow line: the others' panels redraw in between
            assert content.startswith(BEGINNINGS[kind])
        for tab in waiting:
            assert tab.of_type("progress"), tab.text()  # they did wait all the time
        assert not [error for tab in (reader, *waiting) for error in tab.errors()]
