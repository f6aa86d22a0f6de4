"""The form of models that pages of these tests begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.studies.rsa.layers.spec import RsaSpec
from ui.study.forms import Form


@contextmanager
def models_form() -> Iterator[Form[RsaSpec]]:
    """Draw a base, the models compared with it and the button; what follows is in the form."""
    form = Form("rsa", RsaSpec)
    with form.body():
        form.control("base")
        form.control("compare")
        form.button()
        yield form
