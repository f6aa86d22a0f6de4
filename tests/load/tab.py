"""A browser's tab without the browser: the app's own messages over a websocket, so that thirty of
them cost little.

It does what the real page does and a server notices: opens a link, answers the clock of fragments
that redraw themselves, changes widgets, fetches files, and can vanish without a word.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PATIENCE = 300.0  # seconds; a slow machine is no fault of the app
FILE_SECONDS = 60


def run_alone(work: Coroutine[Any, Any, None]) -> None:
    """Run it on a thread and an event loop of its own: the thread of a test that drives a browser
    has one already."""
    with ThreadPoolExecutor(1) as alone:
        alone.submit(asyncio.run, work).result()


class TabError(AssertionError):
    """The app did not do what a reader may expect."""


@dataclass
class _Shown:
    element: Element
    fragment: str
    run: str


class Tab:
    """One session. Use it as an async context manager; leaving closes the socket."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._elements: dict[tuple[int, ...], _Shown] = {}
        self._states: dict[str, WidgetState] = {}
        self._page, self._hash, self._query = "", "", ""
        self._hashes: dict[str, str] = {}  # of the pages, by their place in the address
        self._clocks: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._answers: dict[str, asyncio.Future[str]] = {}
        self.session = ""
        self._run = ""
        self._fragments: tuple[str, ...] = ()
        self._begun = False  # the run of the page's whole script that was asked for
        self.settled = (
            False  # the page's script has run to its end, and has not been asked for again
        )
        self.lost = False  # the server hung up

    async def __aenter__(self) -> Tab:
        stream = self.address.replace("http", "ws", 1) + "/_stcore/stream"
        self._socket: ClientConnection = await connect(stream, max_size=None, origin=self.address)  # type: ignore[arg-type]
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None
    ) -> None:
        self.vanish()
        await self._socket.close()

    def vanish(self) -> None:
        """The lid is closed: nothing is said any more, and the connection is cut."""
        for clock in self._clocks.values():
            clock.cancel()
        self._clocks.clear()
        self._reading.cancel()
        self._socket.transport.abort()

    async def open(self, page: str, **link: Any) -> None:
        """A link, or a click in the navigation; widgets of the page before are left behind."""
        self._page, self._hash, self._query = (
            page,
            self._hashes.get(page, ""),
            urlencode(link, doseq=True),
        )
        self._states.clear()
        self.settled = self._begun = False
        await self._rerun()

    async def choose(self, label: str, value: str) -> None:
        """Press one of a segmented control's buttons."""
        group = next(
            (
                shown.element.button_group
                for shown in self._elements.values()
                if self._is_group(shown.element, label)
            ),
            None,
        )
        if group is None:
            raise TabError(f"there is no {label} to choose from")
        state = WidgetState(id=group.id)
        state.string_array_value.data.append(value)
        await self.say(state)

    async def say(self, state: WidgetState) -> None:
        """Give a widget a state, as somebody who uses it does."""
        self._states[state.id] = state
        self.settled = self._begun = False
        await self._rerun()

    async def press(self, label: str) -> None:
        """Press a button.

        Raises:
            TabError: If there is none with this label.
        """
        button = next((shown for shown in self.of_type("button") if shown.label == label), None)
        if button is None:
            raise TabError(f"there is no button {label}")
        await self.say(WidgetState(id=button.id, trigger_value=True))
        del self._states[button.id]  # a press is said once

    @staticmethod
    def _is_group(element: Element, label: str) -> bool:
        return element.WhichOneof("type") == "button_group" and element.button_group.label == label

    async def download(self, label: str, pause: float = 0.0) -> bytes:
        """What a click on a download button gives.

        Args:
            label: The button's.
            pause: Seconds between the server's answer, which says where the file is, and the asking
                for it.

        Raises:
            TabError: If there is no such button, or no file behind it.
        """
        button = next(
            (found for found in self.of_type("download_button") if found.label == label), None
        )
        if button is None:
            raise TabError(f"there is no button {label}")
        path = (
            await self._make_file(button.deferred_file_id)
            if button.deferred_file_id
            else button.url
        )
        await asyncio.sleep(pause)
        return await asyncio.to_thread(self._fetch, path)

    def _fetch(self, path: str) -> bytes:
        try:
            with urllib.request.urlopen(self.address + path, timeout=FILE_SECONDS) as answer:
                return bytes(answer.read())
        except OSError as error:
            raise TabError(f"{path}: {error}") from error

    @property
    def query(self) -> str:
        """What stands behind the question mark of the page's address."""
        return self._query

    def offers(self, label: str) -> bool:
        """Whether there is such a download button."""
        return any(button.label == label for button in self.of_type("download_button"))

    async def _make_file(self, file_id: str) -> str:
        message = BackMsg()
        message.backend_operation_request.request_id = file_id
        message.backend_operation_request.session_id = self.session
        message.backend_operation_request.deferred_file.file_id = file_id
        self._answers[file_id] = asyncio.get_running_loop().create_future()
        await self._socket.send(message.SerializeToString())
        return await asyncio.wait_for(self._answers[file_id], FILE_SECONDS)

    async def until(self, what: Callable[[Tab], object], seconds: float = PATIENCE) -> None:
        """Wait until the page is so.

        Raises:
            TabError: If it is not in time; says what the page shows instead.
        """
        try:
            async with asyncio.timeout(seconds):
                while not what(self):
                    if self.lost:
                        raise TabError("the server hung up")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            ended = "its script has ended" if self.settled else "its script has not ended"
            raise TabError(
                f"not in {seconds:.0f} s; {ended}; the page says: {self.text()[:2000]}"
            ) from error

    def of_type(self, name: str) -> list[Any]:
        """The messages of the elements of one type on the page, in its order."""
        shown = [self._elements[path].element for path in sorted(self._elements)]
        return [getattr(element, name) for element in shown if element.WhichOneof("type") == name]

    def charts(self) -> list[dict[str, Any]]:
        """Vega-Lite of every chart on the page."""
        return [json.loads(chart.spec) for chart in self.of_type("vega_lite_chart")]

    def text(self) -> str:
        """What the page says in words: headings, prose, alerts, progress."""
        parts = [
            part.body for name in ("heading", "markdown", "alert") for part in self.of_type(name)
        ]
        return "\n".join([*parts, *(bar.text for bar in self.of_type("progress"))])

    def errors(self) -> list[str]:
        """Exceptions and red boxes."""
        red = [alert.body for alert in self.of_type("alert") if alert.format == alert.ERROR]
        return [*(f"{error.type}: {error.message}" for error in self.of_type("exception")), *red]

    async def _rerun(self, fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.page_name, state.query_string = "" if self._hash else self._page, self._query
        state.page_script_hash = self._hash
        state.widget_states.widgets.extend(self._states.values())
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        state.context_info.url = f"{self.address}/{self._page}"
        state.context_info.color_scheme = "light"
        await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        try:
            async for data in self._socket:
                message = ForwardMsg()
                message.ParseFromString(bytes(data))  # type: ignore[arg-type]
                self._take(message)
                self._changed.set()
        except ConnectionClosed:
            pass
        self.lost = True
        self._changed.set()

    def _take(self, message: ForwardMsg) -> None:
        kind, run = message.WhichOneof("type"), message.metadata.run
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id
            self._run, self._fragments = run.script_run_id, tuple(run.fragment_ids)
            if not self._fragments:
                self.settled, self._begun = False, True
                self._stop_clocks()
        elif kind == "navigation":
            self._hash = message.navigation.page_script_hash
            self._hashes = {
                page.url_pathname: page.page_script_hash for page in message.navigation.app_pages
            }
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta":
            self._show(tuple(message.metadata.delta_path), message.delta)
        elif kind == "auto_rerun":
            self._start_clock(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self._stop_clocks(fragment)
        elif kind == "script_finished":
            self._finish(message.script_finished)
        elif kind == "backend_operation_response":
            answer = message.backend_operation_response
            waiting = self._answers.pop(answer.request_id, None)
            if waiting is not None and answer.error_msg:
                waiting.set_exception(TabError(answer.error_msg))
            elif waiting is not None:
                waiting.set_result(answer.deferred_file.url)

    def _show(self, path: tuple[int, ...], delta: Any) -> None:
        if delta.WhichOneof("type") == "new_element":
            self._elements[path] = _Shown(delta.new_element, delta.fragment_id, self._run)
        elif delta.WhichOneof("type") == "add_block":
            self._elements.pop(path, None)

    def _finish(self, status: int) -> None:
        """What the run that ended did not show again is gone; a run that was cut short takes
        nothing away.

        The end of a whole run is not told where a fragment's clock ticks between it and the
        telling (streamlit/streamlit issue 9921): then, as in a browser, the page stands with the
        end of the fragment's run, which can only follow it.
        """
        whole = status == ForwardMsg.FINISHED_SUCCESSFULLY
        part = status == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
        if whole or part:
            for path, shown in list(self._elements.items()):
                if shown.run != self._run and (whole or shown.fragment in self._fragments):
                    del self._elements[path]
        self.settled = self.settled or whole or (part and self._begun)

    def _start_clock(self, fragment: str, interval: float) -> None:
        self._stop_clocks(fragment)
        self._clocks[fragment] = asyncio.create_task(self._tick(fragment, interval))

    def _stop_clocks(self, fragment: str = "") -> None:
        for name in [fragment] if fragment else list(self._clocks):
            if name in self._clocks:
                self._clocks.pop(name).cancel()

    async def _tick(self, fragment: str, interval: float) -> None:
        while not self.lost:
            await asyncio.sleep(interval)
            await self._rerun(fragment)
