"""The server's own addresses: what they answer, and to whom."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.browser.server import serve
from tests.load.tab import Tab, run_alone
from ui.archive.reports import address_of, keep_report
from ui.server.metrics import VARIABLE
from ui.server.routes import routes
from ui.study import studylog

SAMPLE = re.compile(r"palimpsest_[a-z_]+(\{[a-z]+=\"[a-z]+\"\})? [\d.e+]+")
KEEP, PATIENCE = "Keep at an address", 120.0
PAGE = b"<!doctype html><p>kept</p>"


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=list(routes())))


def test_metrics_are_in_the_format_of_prometheus(client: TestClient) -> None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples), samples
    typed = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert {line.partition(" ")[0].partition("{")[0] for line in samples} == {*typed}


def test_ended_studies_are_counted(client: TestClient) -> None:
    before = _samples(client)
    studylog.log_study("RSA", None, [], outcome="failed", seconds=2.5)
    after = _samples(client)
    outcome = 'palimpsest_studies_ended_total{outcome="failed"}'
    assert after[outcome] == before[outcome] + 1
    seconds = "palimpsest_study_seconds_total"
    assert after[seconds] == pytest.approx(before[seconds] + 2.5)


def test_a_large_count_is_exact(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.server.metrics.TOTALS", Counter(found=12_345_678))
    assert _samples(client)['palimpsest_tasks_total{source="found"}'] == 12_345_678


class Slow(Counter[str]):
    """A counter that pauses between reading a count and writing the next."""

    def get(self, key: str, default: Any = None) -> Any:
        count = super().get(key, default)
        time.sleep(0.002)
        return count


def test_two_workers_count_every_study(monkeypatch: pytest.MonkeyPatch) -> None:
    totals = Slow(done=1)
    monkeypatch.setattr(studylog, "TOTALS", totals)

    def count(_: int) -> None:
        studylog.log_study("RSA", None, [], outcome="done", seconds=0.0)

    with ThreadPoolExecutor(2) as workers:
        assert len([*workers.map(count, range(20))]) == 20
    assert totals["done"] == 21


def _samples(client: TestClient) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def test_a_shared_instance_shows_no_metrics_unless_it_is_told_to(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert client.get("/metrics").status_code == 404
    monkeypatch.setenv(VARIABLE, "yes please")
    assert client.get("/metrics").status_code == 404
    monkeypatch.setenv(VARIABLE, "1")
    assert client.get("/metrics").status_code == 200


def test_a_kept_report_is_a_page_that_runs_nothing(client: TestClient) -> None:
    answer = client.get(address_of(keep_report(PAGE)))
    assert (answer.status_code, answer.content) == (200, PAGE)
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "script-src" not in answer.headers["content-security-policy"]


def test_a_link_to_a_report_has_a_preview_picture_at_a_whole_address(client: TestClient) -> None:
    page = b"<head><title>found</title></head>"
    address = address_of(keep_report(page, b"\x89PNG"))
    answer = client.get(address, params={"from": "a chat"})
    (at,) = re.findall('<meta property="og:image" content="([^"]*)">', answer.text)
    assert at == f"http://testserver{address}.png"
    assert answer.text.index("og:image") < answer.text.index("</head>")
    shown = client.get(at)
    assert (shown.status_code, shown.content) == (200, b"\x89PNG")
    assert shown.headers["content-type"] == "image/png"
    hostile = client.get(address, headers={"Host": 'x"><script>'})
    assert "<script" not in hostile.text
    plain = address_of(keep_report(page))
    assert "og:image" not in client.get(plain).text
    assert client.get(f"{plain}.png").status_code == 404


@pytest.mark.parametrize("key", ["0" * 64, "x", "..%2F..%2Fetc%2Fpasswd"])
def test_no_report_is_a_sentence(client: TestClient, key: str) -> None:
    answer = client.get(f"/r/{key}")
    assert answer.status_code == 404
    assert "Traceback" not in answer.text


def test_addresses_are_below_the_base_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.get_option", {"server.baseUrlPath": "lab/palimpsest/"}.get)
    below = TestClient(Starlette(routes=list(routes())))
    address = address_of(keep_report(PAGE))
    assert address.startswith("/lab/palimpsest/r/")
    assert below.get(address).content == PAGE
    assert below.get("/lab/palimpsest/metrics").status_code == 200
    assert below.get("/metrics").status_code == 404


@pytest.mark.slow
def test_an_instance_that_others_reach_shows_no_metrics_before_its_first_page(
    tmp_path: Path,
) -> None:
    with (
        serve(tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0") as address,
        pytest.raises(urllib.error.HTTPError, match="404"),
    ):
        urllib.request.urlopen(f"{address}/metrics", timeout=30)


@pytest.mark.slow
def test_the_server_has_the_pages_and_its_own_addresses(tmp_path: Path) -> None:
    with serve(tmp_path) as address:
        run_alone(_look(address))
        with urllib.request.urlopen(f"{address}/metrics", timeout=30) as answer:
            assert b'palimpsest_studies_ended_total{outcome="done"} 1' in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}/r/{'0' * 64}", timeout=30)
    log = (tmp_path / "log.txt").read_text(encoding="utf8", errors="replace")
    assert "Traceback" not in log


async def _look(address: str) -> None:
    """Open the RSA page, and ask for its report, which this server offers to keep."""
    async with Tab(address) as tab:
        await tab.open("rsa")
        await tab.until(lambda tab: tab.settled and tab.charts())
        await tab.press("Report")
        await tab.until(
            lambda tab: KEEP in [button.label for button in tab.of_type("button")], PATIENCE
        )
