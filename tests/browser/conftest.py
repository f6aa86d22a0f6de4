"""A real Chromium against the real app, started on a free port with a store of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.models import zoo_models

sync_api = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
START_SECONDS = 120
PATIENCE = 120_000  # milliseconds; a slow machine is no fault of the app


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, which runs until the last browser test is over."""
    if not {"seed-0", "parse-0"} <= {entry["name"] for entry in zoo_models()}:
        pytest.skip("the box has no models yet: make zoo")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("app") / "log.txt"
    environment = {**os.environ, "PALIMPSEST_STORE": str(tmp_path_factory.mktemp("browser-store"))}
    environment.pop("PALIMPSEST_MODE", None)
    options = ("--server.headless=true", "--server.fileWatcherType=none", f"--server.port={port}")
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *options]
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            _wait_until_healthy(server, f"http://localhost:{port}/_stcore/health", log)
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sync_api.BrowserContext]:
    """Debian's Chromium with an empty profile."""
    if not Path(CHROMIUM).is_file():
        missing = f"there is no Chromium at {CHROMIUM}: apt install chromium, or set CHROMIUM"
        if os.environ.get("PALIMPSEST_REQUIRE_BROWSER"):  # CI never skips these tests
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=CHROMIUM,
            args=list(ARGUMENTS),
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(PATIENCE)
        sync_api.expect.set_options(timeout=PATIENCE)
        yield context
        context.close()


@pytest.fixture
def page(chromium: sync_api.BrowserContext, app_url: str) -> Iterator[sync_api.Page]:
    """A tab; at its end nothing may have failed in the console or been asked of another server."""
    tab = chromium.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(f"error: {error}"))
    tab.on("request", lambda request: _note_foreign(request.url, app_url, problems))
    yield tab
    tab.close()
    assert not problems


def _note_foreign(url: str, app_url: str, problems: list[str]) -> None:
    if url.startswith("http") and not url.startswith(app_url):
        problems.append(f"asked of another server: {url}")


def _wait_until_healthy(server: subprocess.Popen, address: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the app did not start:\n{log.read_text(encoding='utf8', errors='replace')[-2000:]}")
