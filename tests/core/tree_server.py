"""A stand-in hub with a model tree: listings in pages, bytes counted, and files that are busy, cut
short or whole.

Built on the stand-in of the models' tests; what this room needs on top is here.
"""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.core.hub_server import HubServer, _Handler


class TreeServer(HubServer):
    """The stand-in with pages and counters.

    Attributes:
        page: Models on one page of a listing.
        files_sent: Bytes of file content sent, by path.
        busy: Answers 429 that each path still has to give, by the end of the path; "" for every
            path.
        retry_after: What those answers say to wait, in seconds.
        ignores_ranges: Whether every answer is the whole file.
    """

    def __init__(self) -> None:
        super().__init__()
        self.page = 2
        self.files_sent: dict[str, int] = {}
        self.busy: dict[str, int] = {}
        self.retry_after = "0"
        self.ignores_ranges = False
        self.counting = threading.Lock()
        self._server.RequestHandlerClass = type("TreeHandler", (_TreeHandler,), {"hub": self})

    def add_fine_tune(
        self, name: str, base: str, content: Any, data: tuple[str, ...] = (), **more: Any
    ) -> Any:
        """A repository whose card says that it is a fine-tune of `base`; or
        `relation="adapter"`."""
        relation = more.pop("relation", "finetune")
        extra: dict[str, Any] = {
            "tags": [f"base_model:{relation}:{base}", *(f"dataset:{name}" for name in data)],
            "downloads": 10,
            "cardData": {"datasets": list(data)} if data else {},
            "gated": False,
        }
        settings = {key: more.pop(key) for key in ("state", "sizes") if key in more}
        return self.add(name, content, extra=extra | more, **settings)


class _TreeHandler(_Handler):
    hub: TreeServer

    def _list(self, wanted: str) -> None:
        query = parse_qs(urlsplit(self.path).query)
        start = int(query.get("cursor", ["0"])[0])
        models = [
            one for one in self.hub.repositories.values() if wanted in one.extra.get("tags", [])
        ]
        models.sort(key=lambda one: -int(one.extra.get("downloads", 0)))
        page = models[start : start + self.hub.page]
        headers = {}
        if start + self.hub.page < len(models):
            following = f"{self.hub.url}/api/models?filter={wanted}&cursor={start + self.hub.page}"
            headers["Link"] = f'<{following}>; rel="next"'
        self._send(200, [one.information() for one in page], headers)

    def _send_file(self, repository: Any, name: str, body: bool) -> None:
        path = f"{repository.name}/{name}"
        for key, left in self.hub.busy.items():
            if path.endswith(key) and left and self.headers.get("Range"):
                self.hub.busy[key] = left - 1
                return self._send(
                    429, {"error": "Too many requests"}, {"Retry-After": self.hub.retry_after}
                )
        if self.hub.ignores_ranges and self.headers.get("Range"):
            del self.headers["Range"]
        content = repository.files.get(name)
        wanted = self.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
        if content is not None and wanted and int(wanted) >= len(content):
            return self._write(
                416, b"", "text/plain", {"Content-Range": f"bytes */{len(content)}"}, body
            )
        return super()._send_file(repository, name, body)

    def _write(
        self, status: int, content: bytes, kind: str, headers: dict[str, str], body: bool
    ) -> None:
        if body and kind == "application/octet-stream":
            path = urlsplit(self.path).path
            with self.hub.counting:
                self.hub.files_sent[path] = self.hub.files_sent.get(path, 0) + len(content)
        super()._write(status, content, kind, headers, body)


def as_files(tensors: dict[str, Any], config: dict[str, Any]) -> dict[str, bytes]:
    """A model's repository from its tensors."""
    from safetensors.numpy import save

    return {"config.json": json.dumps(config).encode(), "model.safetensors": save(tensors)}
