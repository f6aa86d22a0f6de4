"""Requests to the Hub: repeated with growing pauses if it fails, within a time limit.

A Hub that limits, fails or is silent for a moment is asked a few times before a model is left out.
One that has just failed is asked only once for a while, so that a study of many models does not
wait for each of them.

huggingface_hub's `model_info`, `list_models` and `list_repo_refs` ask the same, but read an answer
of any size and depth, for as long as bytes arrive, and the latter two have no time-out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from core.maths.progress import tick
from core.models.hub import errors as hub_errors
from core.models.hub.errors import BUSY, causes, failures, is_silence, status_of
from core.runs.process.parsing import MOST_BYTES, parse
from core.runs.process.remembered import Memory

ATTEMPTS = 4
SILENT_ATTEMPTS = 2  # if the Hub does not answer: each attempt takes a time-out
FIRST_WAIT = 1.0  # seconds; doubled after each attempt, unless the Hub says how long
LONGEST_WAIT = 30.0  # seconds; if the Hub asks for more, give up
PATIENCE = 60.0  # seconds for one question with its pauses
GAVE_UP_FOR = 60.0  # seconds after a failure in which questions are not repeated
ANSWER_SECONDS = 20.0  # for a whole answer, of at most `MOST_BYTES`
REFUSAL_BYTES = 2**16  # of an answer that refuses: what follows is not read

Answer = TypeVar("Answer")


def is_offline() -> bool:
    """Whether offline mode is on, as huggingface_hub finds it: the first variable that is set
    counts."""
    setting = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE", "")
    return setting.strip().upper() in {"1", "ON", "YES", "TRUE"}


def ask(question: Callable[[], Answer]) -> Answer:
    """Ask a question, and repeat it if the Hub limits, fails or is silent. Raises what the last
    attempt raised, see `hub_errors.failures`, or CancelledError."""
    from huggingface_hub import constants

    # It reads the environment at import only: switched off then, it would refuse every question of
    # this process, though the Hub is switched on again.
    constants.HF_HUB_OFFLINE = is_offline()
    where, began, wait = os.environ.get("HF_ENDPOINT", ""), time.monotonic(), FIRST_WAIT
    hurried = _gave_up.fresh(where) is not None
    for attempt in range(1, ATTEMPTS + 1):
        try:
            answer = question()
        except failures() as error:
            status, silent = status_of(error), is_silence(error)
            if status not in BUSY and not silent:
                raise
            asked_for = _retry_after(error)
            pause = wait if asked_for is None else asked_for
            last = (
                hurried
                or attempt >= (SILENT_ATTEMPTS if silent else ATTEMPTS)
                or pause > LONGEST_WAIT
            )
            if last or time.monotonic() - began + pause > PATIENCE:
                _gave_up.put(where, True)
                raise
        else:
            _gave_up.forget(where)
            return answer
        _pause(pause)
        wait *= 2
    raise AssertionError("the last attempt returns or raises")


def ask_json(url: str, question: dict[str, Any] | None, token: bool | None) -> tuple[Any, str]:
    """Request JSON from the Hub's API; return it with the address of the next page, or "". Raises
    `hub_errors.failures`, of them ValueError where the answer is no JSON, has no end or takes too
    much memory."""
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    def answer() -> Any:
        headers = build_hf_headers(token=token) | {"Accept-Encoding": "identity"}
        with get_session().stream(
            "GET",
            url,
            params=question,
            headers=headers,
            timeout=hub_errors.TIMEOUT,
            follow_redirects=True,
        ) as response:
            read = whole(response)
        hf_raise_for_status(read)
        return read

    response = ask(answer)
    return parse(response.content), str(response.links.get("next", {}).get("url", ""))


def whole(response: Any) -> Any:
    """Read a whole response within `ANSWER_SECONDS`, else raise ReadTimeout, and `MOST_BYTES`, else
    raise ValueError, as also if it is compressed: that may be any size when it is not."""
    import httpx2

    coding = response.headers.get("content-encoding", "identity")
    if coding != "identity":
        raise ValueError(f"an answer compressed by {coding[:20]}")
    until, parts, size = time.monotonic() + ANSWER_SECONDS, [], 0
    for part in response.iter_raw():
        tick(0.0, "the Hub answers")
        parts.append(part)
        size += len(part)
        if time.monotonic() > until:
            raise httpx2.ReadTimeout(
                f"no whole answer in {ANSWER_SECONDS:g} seconds", request=response.request
            )
        if size > REFUSAL_BYTES and response.status_code >= 400:
            break
        if size > MOST_BYTES:
            raise ValueError(f"an answer of more than {MOST_BYTES:,} bytes")
    coded = (
        "content-encoding",
        "transfer-encoding",
        "content-length",
    )  # of the body as it was sent
    headers = [
        (name, value) for name, value in response.headers.items() if name.lower() not in coded
    ]
    return httpx2.Response(
        response.status_code, headers=headers, content=b"".join(parts), request=response.request
    )


def _retry_after(error: BaseException) -> float | None:
    """Read how many seconds a busy Hub asks to wait; None if it does not say."""
    named = (
        getattr(getattr(cause, "response", None), "headers", {}).get("Retry-After")
        for cause in causes(error)
    )
    text = next((value.strip() for value in named if value), "")
    if text.isdecimal():
        return float(text)
    try:
        return (
            max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
            if text
            else None
        )
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None


def _pause(seconds: float) -> None:
    """Wait, unless the run is cancelled."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        tick(0.0, "waiting for the Hub (rate limit)")
        time.sleep(min(left, 0.2))


# by address of a hub: whether it failed
_gave_up: Memory[bool] = Memory(64, seconds=GAVE_UP_FOR)
