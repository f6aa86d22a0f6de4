"""Charts drawn by Vega in a process of its own, which ends when it has nothing to draw for a while.

Vega's engine (V8) reserves tens of gigabytes of addresses and aborts its process where it may not
have them: under `ulimit -v`, as on many clusters. What is lost there are the figures.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from core.errors import DrawingError
from core.limits import UNLIMITED
from core.runs.process.isolation import ApartError, Patience, RefusedError
from core.runs.process.persistent import PersistentProcess

SECONDS = 300.0  # for one figure
IDLE = 20.0  # seconds in which an engine at work does nothing: it waits for what it cannot get
REST = 60.0  # seconds without a figure after which the process ends, and gives 90 MB back
PIECE = 2**23  # characters of one reply

_engine = PersistentProcess(__name__)


def draw(form: str, spec: str, **options: float) -> bytes:
    """Draw a Vega-Lite specification (JSON) as "svg", "png" or "pdf", with vl-convert's options
    such as a PNG's `scale` and `ppi`. Raises DrawingError if the engine does not run here;
    ValueError if it refuses the specification."""
    request = {"form": form, "spec": spec, "options": options}
    patience = Patience(SECONDS, SECONDS, idle=IDLE)
    try:
        pieces = _engine.ask(request, patience, "drawing", memory=UNLIMITED, rest=REST)
    except RefusedError as error:
        raise ValueError(str(error)) from None
    except ApartError:
        raise DrawingError(f"The figures could not be drawn, because {_reason()}.") from None
    return base64.b64decode("".join(pieces))


def _reason() -> str:
    """Say why the engine has ended, and what to do."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            return (
                f"`ulimit -v` allows {limit / 2**30:.2g} GiB of addresses and the drawing engine "
                "reserves more: "
                "run the same command where there is no such limit, which computes nothing again"
            )
    except ImportError:  # not on Windows
        pass
    return "the drawing engine crashed: try again"


def answer(request: dict[str, Any]) -> Iterator[str]:
    """Draw in this process; yield the file in base64, in pieces. Raises DrawingError if the engine
    refuses the specification."""
    import vl_convert

    convert = getattr(vl_convert, f"vegalite_to_{request['form']}")
    try:
        made = convert(request["spec"], **request["options"])
    except ValueError as error:
        raise DrawingError(str(error)) from error
    content = base64.b64encode(made.encode("utf8") if isinstance(made, str) else made).decode()
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]
