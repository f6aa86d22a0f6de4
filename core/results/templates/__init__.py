"""HTML files from templates: what a template puts in is escaped, so that a text stays a text and nothing in it runs.

A template lies beside the module that fills it, or here; `page.html` is the frame of all, `parts.html` what they share.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SHARED = Path(__file__).parent


def fill(template: Path, **values: Any) -> bytes:
    """The template's text with the values in it, UTF-8.

    Args:
        template: The template's file.
        values: What it names. Texts are escaped; markup that is to stay markup comes as `markupsafe.Markup`.

    Raises:
        jinja2.UndefinedError: If the template names a value that is not there.
    """
    return _environment(template.parent).get_template(template.name).render(values).encode("utf8")


def marked(text: str) -> Markup:
    """A text of ours whose only markup is **bold**, *emphasis* and `code`, as HTML; everything else is escaped."""
    from markupsafe import Markup, escape

    html = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", str(escape(text)))
    html = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html))


@lru_cache
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
