"""A stand-in for the model hub: its API over HTTP on localhost, with a state for each way that a
hub can fail.

    with HubServer() as hub:
        hub.add("organisation/model", folder)
        hub.replace_hub(monkeypatch, tmp_path / "cache")

It speaks what huggingface_hub asks for: model information with files, the tree, the model list, and
files by revision (HEAD and GET, ranges included), and the list of branches. `hub.requests` lists the
paths that were asked for, `hub.sent` counts the bytes of the answers.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from core.models.hub import asking, client, errors, ranges, revisions

STATES = ("fine", "gated", "rate-limited", "broken", "silent", "private", "portal")
SILENCE = 30.0  # seconds: longer than any test waits
ENDLESS = 2**29  # bytes: more than any test takes


@dataclass
class HubRepository:
    """One repository: files by name, the commit that main points at, and the state that it is in.

    Attributes:
        kind: "models" or "datasets".
        files: Content by path.
        sizes: Sizes to claim instead of the true ones, by path.
        state: One of STATES.
        extra: Merged into the answer to questions about the model: tags, downloads, safetensors.
        endless: Files that are sent without a size and without an end.
        packed: Whether it describes itself in compressed answers, whatever was asked for.
        stumbles: Answers 429 that are still to be given before any other.
        revisions: Branches beside main, with the files of each; None for one that is listed but
            gone.
    """

    name: str
    files: dict[str, bytes]
    kind: str = "models"
    state: str = "fine"
    sizes: dict[str, int] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    endless: tuple[str, ...] = ()
    packed: bool = False
    stumbles: int = 0
    revisions: dict[str, dict[str, bytes] | None] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        """40 hex digits that change with the content."""
        digest = hashlib.sha1(self.name.encode())
        for name in sorted(self.files):
            digest.update(name.encode() + self.files[name])
        return digest.hexdigest()

    def at(self, revision: str) -> HubRepository | None:
        """The repository as it is at a branch or a commit; None without that revision."""
        branches = [replace(self, files=files) for files in self.revisions.values() if files]
        if revision in self.revisions:
            files = self.revisions[revision]
            return None if files is None else replace(self, files=files)
        if revision == "main":
            return self
        return next((at for at in (self, *branches) if at.commit == revision), None)

    def references(self) -> dict[str, Any]:
        """The answer to "which branches and tags are there"."""
        names = ["main", *self.revisions]
        return {"branches": [{"name": name} for name in names], "tags": [], "converts": []}

    def entry(self, name: str) -> dict[str, Any]:
        """A file as the tree lists it."""
        size = self.sizes.get(name, len(self.files[name]))
        return {"type": "file", "path": name, "size": size, "oid": etag(self.files[name])}

    def information(self) -> dict[str, Any]:
        """The answer to "what is this repository"."""
        siblings = [
            {
                "rfilename": name,
                "size": self.entry(name)["size"],
                "lfs": {"sha256": etag(self.files[name])},
            }
            for name in sorted(self.files)
        ]
        return {
            "_id": "0",
            "id": self.name,
            "sha": self.commit,
            "siblings": siblings,
            "tags": [],
            **self.extra,
        }


class HubServer:
    """The stand-in, listening on a free port of localhost while the `with` block lasts."""

    def __init__(self) -> None:
        self.repositories: dict[str, HubRepository] = {}
        self.requests: list[str] = []
        self.sent = 0  # bytes of all answers, without their headers
        self.stopping = threading.Event()
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        """What HF_ENDPOINT must be."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(self, name: str, content: Path | dict[str, bytes], **settings: Any) -> HubRepository:
        """Put a folder's files, or these, into a repository; `settings` as in HubRepository."""
        if isinstance(content, Path):
            content = {
                path.relative_to(content).as_posix(): path.read_bytes()
                for path in content.rglob("*")
                if path.is_file()
            }
        repository = HubRepository(name, content, **settings)
        self.repositories[f"{repository.kind}/{name}"] = repository
        return repository

    def replace_hub(
        self, monkeypatch: pytest.MonkeyPatch, cache: Path, timeout: float = 0.5
    ) -> None:
        """Have every question to the hub come here, with an empty cache, nothing remembered and
        short waits."""
        monkeypatch.setenv("HF_ENDPOINT", self.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(cache))
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        for memory in (client._resolved, revisions._listed, ranges._fetched):
            memory.begin()
        monkeypatch.setattr(client, "TIMEOUT", min(timeout, client.TIMEOUT))
        monkeypatch.setattr(errors, "TIMEOUT", timeout)
        monkeypatch.setattr(asking, "FIRST_WAIT", 0.01)

    def __enter__(self) -> HubServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def etag(content: bytes) -> str:
    """What the hub names a large file by."""
    return hashlib.sha256(content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request; what is not known here is not found."""

    hub: HubServer

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on the terminal."""

    def _answer(self, body: bool) -> None:
        address = urlsplit(self.path)
        path, query = unquote(address.path).strip("/"), parse_qs(address.query)
        self.hub.requests.append(f"{self.command} /{path}")
        if path == "api/models":
            return self._list(query.get("filter", [""])[0])
        found = self._find(path)
        if found is None:
            return self._send(
                401, {"error": "Invalid username or password."}, {"X-Error-Code": "RepoNotFound"}
            )
        repository, action, rest = found
        if self._fails(repository, action):
            return None
        if action == "refs":
            return self._send(200, repository.references())
        if action in ("revision", "tree", "resolve"):
            revision, _, rest = rest.partition("/")
            at = repository.at(revision)
            if at is None:
                code = {"X-Error-Code": "RevisionNotFound"}
                return self._send(404, {"error": f"Invalid rev id: {revision}"}, code)
            repository = at
        if action == "resolve":
            return self._send_file(repository, rest, body)
        if action == "tree":
            return self._send(200, [repository.entry(name) for name in sorted(repository.files)])
        if repository.packed:
            packed = gzip.compress(json.dumps(repository.information()).encode())
            return self._write(200, packed, "application/json", {"Content-Encoding": "gzip"}, body)
        return self._send(200, repository.information())

    def _list(self, wanted: str) -> None:
        models = [one for one in self.hub.repositories.values() if one.kind == "models"]
        if any(one.state == "broken" for one in models):
            return self._send(500, {"error": "Internal error"})
        chosen = [one.information() for one in models if wanted in one.extra.get("tags", [])]
        return self._send(200, sorted(chosen, key=lambda one: -one.get("downloads", 0)))

    def _find(self, path: str) -> tuple[HubRepository, str, str] | None:
        """(repository, action, rest of the path); None if there is no such repository."""
        for key, repository in self.hub.repositories.items():
            plain = key.removeprefix(
                "models/"
            )  # files of models lie at the root, those of data sets do not
            for prefix, usual in ((f"api/{key}", "revision"), (plain, "resolve")):
                if path == prefix:
                    return repository, "information", ""
                if path.startswith(prefix + "/"):
                    action, _, rest = path.removeprefix(prefix + "/").partition("/")
                    return repository, action or usual, rest
        return None

    def _fails(self, repository: HubRepository, action: str) -> bool:
        """Whether the repository's state has been answered already. Gated ones still say what they
        are."""
        if repository.stumbles:
            repository.stumbles -= 1
            self._send(429, {"error": "Too many requests"}, {"Retry-After": "0"})
            return True
        if repository.state == "silent":
            self.hub.stopping.wait(SILENCE)
            return True
        if repository.state == "gated" and action == "resolve":
            self._send(403, {"error": "Access restricted"}, {"X-Error-Code": "GatedRepo"})
        elif repository.state == "private":
            self._send(401, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        elif repository.state == "rate-limited":
            self._send(
                429,
                {"error": "Too many requests"},
                {"RateLimit": '"api";r=0;t=240', "Retry-After": "240"},
            )
        elif repository.state == "portal":  # a network's log-in page in place of every answer
            self._write(200, b"<html>Please log in</html>", "text/html", {}, body=True)
        elif repository.state == "broken":
            self._send(503, {"error": "Service unavailable"})
        else:
            return False
        return True

    def _send_file(self, repository: HubRepository, name: str, body: bool) -> None:
        content = repository.files.get(name)
        if content is None:
            code = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": repository.commit}
            return self._send(404, {"error": "Entry not found"}, code)
        headers = {
            "X-Repo-Commit": repository.commit,
            "ETag": f'"{etag(content)}"',
            "Accept-Ranges": "bytes",
        }
        if name in repository.endless and body:
            return self._send_endless(headers)
        start, end, status = 0, len(content) - 1, 200
        if wanted := self.headers.get("Range", "").removeprefix("bytes="):
            low, _, high = wanted.partition("-")
            start, end, status = int(low or 0), min(int(high or end), end), 206
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        return self._write(
            status, content[start : end + 1], "application/octet-stream", headers, body
        )

    def _send_endless(self, headers: dict[str, str]) -> None:
        try:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            while self.hub.sent < ENDLESS and not self.hub.stopping.is_set():
                self.hub.sent += self.wfile.write(b" " * 2**20)
        except (BrokenPipeError, ConnectionResetError):
            pass  # who asked has had enough
        self.close_connection = True

    def _send(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
        headers = dict(headers or {})
        if status >= 400:
            headers["X-Error-Message"] = str(answer["error"])
        self._write(
            status, json.dumps(answer).encode(), "application/json", headers, self.command != "HEAD"
        )

    def _write(
        self, status: int, content: bytes, kind: str, headers: dict[str, str], body: bool
    ) -> None:
        try:
            self.send_response(status)
            for name, value in {
                **headers,
                "Content-Type": kind,
                "Content-Length": str(len(content)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content)
                self.hub.sent += len(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # who asked has left
