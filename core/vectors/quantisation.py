"""Quantised models among those of a study: said beside its result, whatever the study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

from core.errors import PalimpsestError
from core.models.describing import locate
from core.models.files.checkpoints import read_config
from core.models.files.opening import is_quantised, open_weights, quantisation_notice
from core.models.hub.client import earlier_download
from core.models.patterns import matching_refs
from core.models.references import parse_ref
from core.results.export import Result

R = TypeVar("R", bound=Result)
KINDS = ("path:", "hub:")  # of references whose weights may be quantised


def with_quantisation(result: R, spec: Any) -> R:
    """Add a notice for each quantised model that a study read.

    Args:
        result: The study's.
        spec: What was asked for; its texts and lists of texts may be references.
    """
    notices = [notice for ref in _references(spec) if (notice := _notice(ref))]
    added = tuple(notice for notice in notices if notice not in result.notices)
    return replace(result, notices=(*added, *result.notices)) if added else result


def _references(spec: Any) -> Iterator[str]:
    """List the references in a spec's fields once each, patterns expanded."""
    fields = vars(spec).values()
    texts = [text for field in fields for text in (field if isinstance(field, tuple) else [field])]
    for text in dict.fromkeys(texts):
        if isinstance(text, str) and text.startswith(KINDS):
            try:
                yield from matching_refs(text)
            except PalimpsestError:
                continue  # a text, or a model that the study has said it cannot find


def _notice(ref: str) -> str:
    """Say that a model is quantised; "" if it is not, or is not on this machine."""
    parsed = parse_ref(ref)
    try:
        if parsed.kind == "hub":
            folder = earlier_download(parsed.name, parsed.revision or "main")
        else:
            folder = locate(parsed)
        if folder is None:
            return ""
        config = read_config(folder)
        quantised = is_quantised(folder, config)
        return quantisation_notice(ref, open_weights(folder, config)) if quantised else ""
    except PalimpsestError:
        return ""  # the study has said why it could not be read
