"""Which names an instance answers to: the rule, and every entry asked over a bare socket."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from streamlit import config

from core.limits import MODE
from tests.browser.server import ENTRY, make_command, started
from tests.cases import exhaustive
from tests.load.tab import Tab, run_alone
from ui.server import hosts

EVIL, LAB = "evil.example", "lab.example.org"
OWN = ("localhost", "LOCALHOST.:8501", "127.0.0.1:8501", "127.1.2.3", "[::1]:8501", "[::1]")
OF_OTHERS = (
    *(EVIL, f"{EVIL}:8501", f"localhost.{EVIL}", f"127.0.0.1.{EVIL}", "localhost@evil.example"),
    *("", " ", "localhost/", "localhost:8501:8501", "[::1", "[evil.example]", "*", "xn--lcalhost"),
    *("\u0131ocalhost", "localhost:port", "http://localhost", "2130706433"),
)
Options = dict[str, Any]


def instance(monkeypatch: pytest.MonkeyPatch, mode: str, **options: Any) -> None:
    """An instance in a mode, with options of `server` by their names."""
    defaults = {"address": "localhost", "allowedHosts": [], "corsAllowedOrigins": []}
    given = {"enableCORS": True, **defaults, **options}
    values = {f"server.{name}": value for name, value in given.items()}
    monkeypatch.setattr("streamlit.get_option", values.get)
    monkeypatch.setattr(config, "set_option", values.__setitem__)
    monkeypatch.setenv(MODE, mode)


@pytest.mark.parametrize("host", OWN)
def test_this_computer_is_answered_in_every_mode(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in ("local", "shared"):
        for names in ([], [LAB]):
            instance(monkeypatch, mode, allowedHosts=names)
            assert hosts.answers_to(host)


@pytest.mark.parametrize("host", OF_OTHERS)
def test_a_local_instance_answers_to_no_name_of_others(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ("localhost", "127.0.0.1", "0.0.0.0", None):
        instance(monkeypatch, "local", address=address, allowedHosts=[LAB])
        assert not hosts.answers_to(host)
        instance(monkeypatch, "local", address=address)
        assert not hosts.answers_to(host)


def test_names_that_are_given_are_answered_and_an_address_in_numbers_where_it_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance(monkeypatch, "local", allowedHosts=[LAB.upper(), "*.example.net"])
    assert hosts.answers_to(f"{LAB}:8501")
    assert hosts.answers_to("a.example.net")
    assert not hosts.answers_to("example.net")
    assert not hosts.answers_to("192.168.1.5:8501")
    instance(monkeypatch, "local", address="0.0.0.0")
    assert hosts.answers_to("192.168.1.5:8501")
    assert hosts.answers_to("[fd00::5]:8501")
    instance(monkeypatch, "local", address="127.0.0.1")
    assert not hosts.answers_to("192.168.1.5:8501")  # reached through something else


def test_a_shared_instance_answers_to_any_name_unless_it_is_given_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance(monkeypatch, "shared", address="0.0.0.0")
    assert hosts.answers_to(LAB)
    assert hosts.answers_to("")  # a check of health without a name
    instance(monkeypatch, "shared", address="0.0.0.0", allowedHosts=[LAB])
    assert hosts.answers_to(LAB)
    assert not hosts.answers_to(EVIL)


def test_streamlit_lets_sockets_in_by_the_same_names(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [*hosts.LOOPBACK]
    for mode, options, names in (
        ("local", {}, own),
        ("local", {"allowedHosts": [LAB, "localhost"]}, [*own, LAB]),
        ("shared", {"allowedHosts": [LAB]}, [*own, LAB]),
        ("shared", {}, []),
        ("local", {"address": "0.0.0.0"}, []),
    ):
        instance(monkeypatch, mode, **options)
        hosts.name_this_computer()
        assert hosts.st.get_option(hosts.NAMES) == names


@pytest.mark.parametrize(
    ("mode", "options", "host", "origin", "comes"),
    [
        ("local", {}, "localhost:8501", "http://localhost:8501", True),
        ("local", {}, "127.0.0.1:8501", "http://localhost:8501", True),
        ("local", {}, "localhost:8501", f"http://{EVIL}", False),
        ("local", {"enableCORS": False}, "localhost:8501", f"http://{EVIL}", False),
        ("local", {}, "localhost:8501", "null", False),
        ("local", {}, "localhost:8501", "http://[", False),
        ("local", {"allowedHosts": [LAB]}, LAB, f"https://{LAB}", True),
        ("local", {}, "[::1]:8501", "http://[::1]:8501", True),
        ("local", {"corsAllowedOrigins": [f"https://{LAB}"]}, "::1", f"https://{LAB}", True),
        ("shared", {}, LAB, f"https://{LAB}", True),
        ("shared", {}, LAB, f"https://{EVIL}", False),
        ("shared", {}, LAB, "http://localhost:3000", True),
        ("shared", {"enableCORS": False}, LAB, f"https://{EVIL}", True),
        ("shared", {"corsAllowedOrigins": [LAB]}, "127.0.0.1", f"https://{LAB}", True),
    ],
)
def test_a_socket_comes_from_a_page_of_its_instance(
    mode: str,
    options: Options,
    host: str,
    origin: str,
    comes: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance(monkeypatch, mode, **options)
    assert hosts.comes_from(origin, host) is comes


@pytest.mark.parametrize(
    ("origin", "said"),
    [(f"https://{EVIL}:1", f"name {EVIL}:1 may"), ("http://[", "name that this request gives may")],
)
def test_a_socket_of_another_page_is_refused_with_its_name_if_it_is_one(
    origin: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance(monkeypatch, "local")
    headers = [(b"host", b"localhost"), (b"origin", origin.encode())]
    assert said in hosts._refusal({"type": "websocket", "headers": headers})


def status(address: str, path: str, *headers: str) -> int:
    """Status of the answer to a request with just these headers."""
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port), timeout=60) as line:
        line.sendall("\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode())
        return int(re.match(rb"HTTP/1.1 (\d+)", line.recv(100))[1])  # type: ignore[index]


def opened(address: str, host: str, origin: str | None) -> bool:
    """Whether a socket opens."""
    key = ("Sec-WebSocket-Key: c2l4dGVlbiBieXRlcyEhIQ==", "Sec-WebSocket-Version: 13")
    page = [f"Origin: {origin}"] if origin is not None else []
    upgrade = ("Connection: Upgrade", "Upgrade: websocket")
    answer = status(address, "/_stcore/stream", f"Host: {host}", *upgrade, *key, *page)
    assert answer in (101, 403)
    return answer == 101


LOCAL = (
    "make app",
    "make app ADDRESS=127.0.0.1",
    "streamlit run app.py --server.address=localhost",
)


@pytest.mark.slow
@pytest.mark.parametrize("entry", exhaustive([*LOCAL, "streamlit run app.py"], LOCAL[0]))
def test_a_local_instance_is_closed_to_pages_of_others(entry: str, tmp_path: Path) -> None:
    program, *_, last = entry.split()
    options = [last] if "=" in last else []
    command = make_command(tmp_path, *options) if program == "make" else [*ENTRY, *options]
    everywhere = {} if entry in LOCAL else {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", MODE: "local"}
    with started(command, tmp_path, **everywhere) as (_, address):
        own, page = urlsplit(address).netloc, f"http://{EVIL}"
        for path in ("/", "/metrics", "/rsa", "/_stcore/health", f"/r/{'0' * 64}"):
            assert status(address, path, f"Host: {EVIL}") == 403
            assert status(address, path, f"Host: {own}") == (404 if "/r/" in path else 200)
            assert status(address, path) in (400, 403)
            assert status(address, path, f"Host: {own}", f"Host: {EVIL}") in (400, 403)
        assert not opened(address, EVIL, page)
        assert not opened(address, f"{EVIL}:{urlsplit(address).port}", None)
        assert not opened(address, own, page)
        assert opened(address, own, address)
        assert opened(address, own, None)  # no browser
    log = (tmp_path / "log.txt").read_text(encoding="utf8", errors="replace")
    assert "Traceback" not in log
    assert log.count(EVIL) == 1  # said once


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_name_is_added_for_a_tunnel(tmp_path: Path) -> None:
    with started(make_command(tmp_path, f"HOST={LAB}"), tmp_path) as (_, address):
        own = urlsplit(address).netloc
        for host in (LAB, f"{LAB}:443", own):
            assert status(address, "/", f"Host: {host}") == 200
        assert status(address, "/", f"Host: {EVIL}") == 403
        assert opened(address, LAB, f"https://{LAB}")
        assert opened(address, own, address)
        assert not opened(address, LAB, f"https://{EVIL}")


@pytest.mark.slow
def test_a_shared_instance_answers_to_any_name_and_only_its_pages_open_sockets(
    tmp_path: Path,
) -> None:
    with started(ENTRY, tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0") as (_, address):
        assert status(address, "/", f"Host: {LAB}") == 200
        assert opened(address, LAB, f"https://{LAB}")
        assert not opened(address, LAB, f"https://{EVIL}")


UNCHECKED = """
import os
from streamlit.web import bootstrap

port = int(os.environ["STREAMLIT_SERVER_PORT"])
bootstrap.load_config_options({"server_port": port, "server_address": "localhost"})
bootstrap.run("app.py", False, [], {})
"""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_server_without_the_check_is_shared(tmp_path: Path) -> None:
    with started([sys.executable, "-c", UNCHECKED], tmp_path) as (_, address):
        run_alone(_look_at_mode(address))


async def _look_at_mode(address: str) -> None:
    async with Tab(address) as tab:
        await tab.open("rsa", base="path:/tmp/model")
        await tab.until(lambda tab: tab.settled and tab.text())
        assert any("Shared mode" in part.body for part in tab.of_type("markdown"))
