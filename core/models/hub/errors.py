"""Failures of the Hub, each in one sentence that says what to do.

The client library raises its own errors for some and the network's for others, and wraps either in
"not in the cache": the whole chain of causes is looked at, the most telling kind first.
"""

from __future__ import annotations

from pathlib import Path

import core.models.files.layout as layout
from core.limits import current_limits

TIMEOUT = 5.0  # seconds to wait for an answer of the Hub
BUSY = (429, 500, 502, 503, 504)  # states of a Hub that may recover soon
BOX = "use an included model such as zoo:seed-0"
OFFLINE = (
    "{name} was not downloaded earlier and offline mode is on (HF_HUB_OFFLINE): turn it off, or "
    f"{BOX}."
)


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
    """Whether the Hub did not answer or failed, so that an earlier download may be used."""
    import httpx2

    return status_of(error) in BUSY or any(
        isinstance(cause, httpx2.TransportError) for cause in causes(error)
    )


def is_silence(error: Exception) -> bool:
    """Whether the Hub accepted a request and did not answer it completely."""
    import httpx2

    silence = (httpx2.TimeoutException, httpx2.ReadError, httpx2.RemoteProtocolError)
    return any(isinstance(cause, silence) for cause in causes(error))


def status_of(error: BaseException) -> int | None:
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

    if error is None:
        return OFFLINE.format(name=name)
    chain, status = causes(error), status_of(error)

    def among(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in chain)

    if among(errors.HFValidationError):
        return (
            f"{name!r} is not a valid name on the Hub: write hub:model or hub:organisation/model."
        )
    if among(UnicodeEncodeError, httpx2.LocalProtocolError):  # what no header may hold
        return (
            "The token for the Hub (HF_TOKEN) holds characters that no token has: copy it again, "
            f"log in with `hf auth login`, or {BOX}."
        )
    if among(errors.GatedRepoError):
        return (
            f"{name} is gated: "
            f"accept its terms at {endpoint}/{name}, log in with `hf auth login`, and try again."
        )
    if among(errors.RevisionNotFoundError):
        return (
            f"{name} has no revision {revision!r} on the Hub: "
            "leave it out for the newest, or check its spelling."
        )
    if among(errors.RemoteEntryNotFoundError):
        return (
            f"{name} has no {layout.CONFIG} or lacks a file that it lists: "
            "it is not a Transformers model."
        )
    if among(errors.RepositoryNotFoundError) or status == 401:
        return (
            f"The Hub has no model {name} that you may see: check its spelling; if private, log "
            "in (`hf auth login`)."
        )
    if status == 429:
        limited = "The Hub limits the requests of this address (rate limit)"
        return f"{limited}: wait a few minutes, or {BOX}."
    if among(httpx2.TimeoutException):
        return (
            f"The Hub did not answer within {TIMEOUT:g} seconds and {name} was not downloaded "
            f"earlier: try again, or {BOX}."
        )
    if status is not None:
        return (
            f"The Hub answered with a server error ({status}) when asked for {name}: "
            f"try again later, or {BOX}."
        )
    if among(httpx2.TransportError):
        return (
            f"The Hub cannot be reached and {name} was not downloaded earlier: "
            f"check the connection, or {BOX}."
        )
    if among(ValueError):
        return (
            f"The server at {endpoint} is not a model hub ({error}): check HF_ENDPOINT, or {BOX}."
        )
    if current_limits().shared:
        return f"{name} could not be saved on this server: try again later, or {BOX}."
    return (
        f"{name} could not be saved in {cache} ({error}): "
        "free some space or set HF_HOME, and try again."
    )
