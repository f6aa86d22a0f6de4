"""HTML files from templates, in which every text is escaped so that nothing in it can run.

A template is in the folder of the module that fills it, or here; `page.html` is the frame of all
templates and `parts.html` has their common parts.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SHARED = Path(__file__).parent


def fill(template: Path, **values: Any) -> bytes:
    """Fill a template with values by name, which are escaped except `markupsafe.Markup`, as
    UTF-8."""
    return _environment(template.parent).get_template(template.name).render(values).encode("utf8")


def marked(text: str) -> Markup:
    """Turn **bold**, *emphasis* and `code` of one of this app's texts into HTML, and escape
    everything else."""
    from markupsafe import Markup, escape

    html = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", str(escape(text)))
    html = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html))


@cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([folder, SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["base64"] = lambda content: base64.b64encode(content).decode("ascii")
    return environment
