"""While a file that would hold the tokenizer is being refused, the server answers everybody
else."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from pathlib import Path

import pytest

from tests.browser.server import serve
from tests.load.tab import Tab, run_alone

PROMISED = 0.2  # seconds
ATTEMPTS = (
    3  # a machine with other work on it may be late once; a server that is held is late each time
)
SMALL = {"sentences": 20, "words": 40, "compare": "zoo:parse-0", "references": "false"}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_health_address_answers_while_a_file_of_brackets_is_refused(tmp_path: Path) -> None:
    with serve(tmp_path) as address:
        run_alone(_refused(address, tmp_path))


async def _refused(address: str, folder: Path) -> None:
    took: list[float] = []
    async with Tab(address) as tab:
        await tab.open("rsa", **SMALL)
        await tab.until(lambda tab: tab.settled and tab.charts())  # the heavy imports are behind us
        while len(took) < ATTEMPTS:
            count = 9_000 + len(took)
            file = folder / f"brackets-{count}.txt"
            file.write_text("(" * count)
            sentence = f"{count:,} characters without a space"
            asking = asyncio.create_task(_longest(address))
            await tab.open("rsa", **SMALL, corpus=str(file))
            await tab.until(
                lambda tab, sentence=sentence: any(sentence in error for error in tab.errors())
            )
            asking.cancel()
            took.append(await asking)
            if took[-1] < PROMISED:
                return
    raise AssertionError(f"the health address took {took} s")


async def _longest(address: str) -> float:
    """The longest that the health address took to answer, until cancelled."""
    longest = 0.0
    while True:
        began = time.monotonic()
        asked = asyncio.create_task(asyncio.to_thread(_health, address))
        try:
            await asyncio.shield(asked)
            longest = max(longest, time.monotonic() - began)
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            await asked
            return max(longest, time.monotonic() - began)


def _health(address: str) -> None:
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=60) as answer:
        assert answer.status == 200
