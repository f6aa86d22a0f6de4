"""Failures of the Hub, each in one sentence that says what to do.

The client library raises its own errors for some and the network's for others, and wraps either in
"not in the cache": the whole chain of causes is looked at, the most telling kind first.
"""

from __future__ import annotations

from pathlib import Path

from core.limits import current_limits
from core.models.files import layout

TIMEOUT = 5.0  # seconds to wait for an answer of the Hub
BUSY = (429, 500, 502, 503, 504)  # states of a Hub that may recover soon
BOX = "use an included model such as zoo:seed-0"
SENTENCES = {
    "offline": "{name} was not downloaded earlier and offline mode is on (HF_HUB_OFFLINE): turn it "
    f"off, or {BOX}.",
    "name": "{name!r} is not a valid name on the Hub: write hub:model or hub:organisation/model.",
    "token": "The token for the Hub (HF_TOKEN) holds characters that no token has: copy it again, "
    f"log in with `hf auth login`, or {BOX}.",
    "gated": "{name} is gated: accept its terms at {endpoint}/{name}, log in with `hf auth login`, "
    "and try again.",
    "revision": "{name} has no revision {revision!r} on the Hub: leave it out for the newest, or "
    "check its spelling.",
    "file": f"{{name}} has no {layout.CONFIG} or lacks a file that it lists: it is not a "
    "Transformers model.",
    "unknown": "The Hub has no model {name} that you may see: check its spelling; if private, log "
    "in (`hf auth login`).",
    "limited": "The Hub limits the requests of this address (rate limit): wait a few minutes, or "
    f"{BOX}.",
    "silent": "The Hub did not answer within {timeout:g} seconds and {name} was not downloaded "
    f"earlier: try again, or {BOX}.",
    "broken": "The Hub answered with a server error ({status}) when asked for {name}: try again "
    f"later, or {BOX}.",
    "unreachable": "The Hub cannot be reached and {name} was not downloaded earlier: check the "
    f"connection, or {BOX}.",
    "foreign": "The server at {endpoint} is not a model hub ({error}): check HF_ENDPOINT, "
    f"or {BOX}.",
    "unsaved here": f"{{name}} could not be saved on this server: try again later, or {BOX}.",
    "unsaved": "{name} could not be saved in {cache} ({error}): free some space or set HF_HOME, "
    "and try again.",
}


def failures() -> tuple[type[Exception], ...]:
    """The exceptions of the client library for a Hub that refuses or is silent, or a full disk."""
    import httpx2
    from huggingface_hub.errors import HFValidationError

    return (OSError, ValueError, HFValidationError, httpx2.TransportError)


def causes(error: BaseException | None) -> list[BaseException]:
    """List an error and its causes."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def is_unreachable(error: Exception) -> bool:
    """Whether the Hub did not answer, failed or is switched off, so that an earlier download may be
    used."""
    import httpx2
    from huggingface_hub.errors import OfflineModeIsEnabled

    return status_of(error) in BUSY or any(
        isinstance(cause, httpx2.TransportError | OfflineModeIsEnabled) for cause in causes(error)
    )


def is_silence(error: Exception) -> bool:
    """Whether the Hub accepted a request and did not answer it completely."""
    import httpx2

    silence = (httpx2.TimeoutException, httpx2.ReadError, httpx2.RemoteProtocolError)
    return any(isinstance(cause, silence) for cause in causes(error))


def status_of(error: BaseException | None) -> int | None:
    """Find the HTTP status behind an error; None if there was no answer."""
    statuses = (
        getattr(getattr(cause, "response", None), "status_code", None) for cause in causes(error)
    )
    return next((status for status in statuses if status), None)


def explain(
    error: Exception | None, name: str, revision: str | None, endpoint: str, cache: Path
) -> str:
    """Say what went wrong and what to do, for each failure of the Hub."""
    import httpx2
    from huggingface_hub import errors

    chain, status = causes(error), status_of(error)

    def among(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in chain)

    problems = {  # the most telling first
        "offline": error is None or among(errors.OfflineModeIsEnabled),
        "name": among(errors.HFValidationError),
        "token": among(UnicodeEncodeError, httpx2.LocalProtocolError),  # what no header may hold
        "gated": among(errors.GatedRepoError),
        "revision": among(errors.RevisionNotFoundError),
        "file": among(errors.RemoteEntryNotFoundError),
        "unknown": among(errors.RepositoryNotFoundError) or status == 401,
        "limited": status == 429,
        "silent": among(httpx2.TimeoutException),
        "broken": status is not None,
        "unreachable": among(httpx2.TransportError),
        "foreign": among(ValueError),
        "unsaved here": current_limits().shared,
        "unsaved": True,
    }
    sentence = SENTENCES[next(problem for problem, holds in problems.items() if holds)]
    return sentence.format(
        name=name,
        revision=revision,
        endpoint=endpoint,
        cache=cache,
        error=error,
        status=status,
        timeout=TIMEOUT,
    )
