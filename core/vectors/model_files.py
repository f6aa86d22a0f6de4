"""What is said of models' files beside a result, whatever the study: weights that are quantised,
and files of weights that were not read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from core.errors import PalimpsestError
from core.models.describing import locate
from core.models.files.checkpoints import layout_of, read_config, weight_files
from core.models.files.layout import PICKLED_INDEX, lay_out, unread_notice
from core.models.files.opening import is_quantised, open_weights, quantisation_notice
from core.models.hub.client import earlier_download, last_answer, read_index
from core.models.hub.errors import failures
from core.models.patterns import matching_refs
from core.models.references import ModelRef, parse_ref
from core.results.export import Result
from core.runs.runner import Outputs

R = TypeVar("R", bound=Result)
KINDS = ("path:", "hub:")  # of references to files from outside


def with_model_files(result: R, spec: Any, *outputs: Outputs) -> R:
    """Add notices of the files of each model that a study read: references in the texts of its spec
    and in the roles of its tasks."""
    notices = [notice for ref in _references(spec, outputs) for notice in _notices(ref)]
    added = tuple(notice for notice in notices if notice not in result.notices)
    return replace(result, notices=(*added, *result.notices)) if added else result


def _references(spec: Any, outputs: tuple[Outputs, ...]) -> list[str]:
    """List the references in a spec's fields and tasks' roles once each, patterns expanded."""
    fields = [*vars(spec).values(), *(role for output in outputs for role in output.values)]
    texts = [text for field in fields for text in (field if isinstance(field, tuple) else [field])]
    expanded: dict[str, None] = {}
    for text in dict.fromkeys(t for t in texts if isinstance(t, str) and t.startswith(KINDS)):
        with suppress(PalimpsestError):  # a text, or a model that the study has said it cannot find
            expanded |= dict.fromkeys(matching_refs(text))
    return list(expanded)


def _notices(ref: str) -> Iterator[str]:
    """Say what a model's files have that a reader must know; nothing of one that is not known on
    this machine."""
    parsed = parse_ref(ref)
    expected: tuple[type[Exception], ...] = (PalimpsestError, *failures())
    try:
        on_hub = parsed.kind == "hub"
        if on_hub:
            yield from filter(None, [_unread_on_hub(ref, parsed)])
        folder = earlier_download(parsed.name, parsed.revision) if on_hub else locate(parsed)
        if folder is None:
            return
        if not on_hub:
            files = [path.name for path in weight_files(folder)]
            yield from filter(None, [unread_notice(ref, layout_of(folder).unread(files), files)])
        config = read_config(folder)
        if is_quantised(folder, config):
            yield from filter(None, [quantisation_notice(ref, open_weights(folder, config))])
    except expected:
        return  # the study has said why it could not be read


def _unread_on_hub(ref: str, parsed: ModelRef) -> str:
    """Say which files of weights on the Hub were not read, as far as it was asked; not pickled ones
    beside safetensors, as most repositories offer both."""
    answer = last_answer(parsed.name, parsed.revision)
    if answer is None:
        return ""
    layout = lay_out(answer.files, parsed.name)
    files = layout.weight_files(partial(read_index, answer))
    both = (".bin", PICKLED_INDEX) if layout.format == ".safetensors" else ()
    return unread_notice(ref, [n for n in layout.unread(files) if not n.endswith(both)], files)
