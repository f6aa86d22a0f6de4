"""The shelf: results of models that are not included, shipped whole, opened without the models.

A file like that of the precomputed results, beside it: the list of what is there, and each result's
record and numbers under its name. What is damaged is not there. Folders of models in the home
folder are written alike for everybody: `path:~/models`.

A run of a study asks it whether its result is there, and whether one that is computed here is of
the same models. A folder, an included model and one that was run are known by a sha256. One of the
Hub whose weights alone are read is known by its name and commit, which say where it lies, not what
it is: the sha256 of its weights stands for it on the shelf, and is looked up again where it is
compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from core.errors import ModelError, PalimpsestError, listed
from core.models.references import parse_ref
from core.options import Spec, options_of
from core.results.export import Result, result_json, result_numbers
from core.results.names import short_name
from core.results.reading import read_result
from core.runs.encoding import decode, encode
from core.runs.precomputed import Precomputed, default_precomputed, write_precomputed
from core.runs.process.remembered import file_state, remembered
from core.runs.runner import Progress
from core.runs.store import current_store

FILE = "real.zip"  # beside the precomputed results
LIST = "shelf"  # key of the list; no result has this name
RECORD = "record"  # of a result, among its numbers
MOST = 32  # results remembered
LARGE = 1_000  # numbers of an array
HASHES = re.compile(r"[0-9a-f]{64}(?: [0-9a-f]{64})*")  # of files, or of an adapter and its base
DIGITS = 12  # of a hash that are shown
FROM_HOME = "path:~/"
ALL_SHIPPED = Progress(1, 1, 1, 1.0, "", 0.0, 0.0, shipped=1)
DAMAGED = (PalimpsestError, OSError, ValueError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True)
class Shelved:
    """A result on the shelf, without its numbers.

    Attributes:
        name: Its key.
        title: What a reader calls it, in a few words.
        page: File of the page that shows it, such as "pages/rsa.py".
        study: Words of its command.
        values: Options of its spec, as plain JSON values.
        sources: Reference of each model -> where its weights came from.
        sentence: The first sentence of what was found.
        beside: Whether it is an experiment of its page, not the page's main study.
    """

    name: str
    title: str
    page: str
    study: str
    values: Mapping[str, Any] = field(hash=False)
    sources: Mapping[str, str] = field(hash=False)
    sentence: str = ""
    beside: bool = False

    def spec(self, kind: type[Any]) -> Any:
        """Make its spec; options that this version does not have are left out. Raises
        PalimpsestError if a value is not valid here, as a folder on a shared instance."""
        given = {option.name for option in options_of(kind)} & set(self.values)
        values = {name: self.values[name] for name in given}
        return kind(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in values.items()
            }
        )


@dataclass(frozen=True)
class Shelf:
    """The results in one file; none where it is missing or damaged."""

    path: Path

    @property
    def entries(self) -> tuple[Shelved, ...]:
        """What is on the shelf, in order."""
        try:
            return _entries(self.path, in_home())
        except DAMAGED:
            return ()

    def find(self, study: str, spec: Spec) -> Shelved | None:
        """Find the result of a study with these options; None if there is none."""
        return next((each for each in self.entries if _is_of(each, study, spec)), None)

    def open(self, entry: Shelved, kind: type[Any] | None = None) -> Any:
        """Read a result of this kind; None if it is damaged."""
        try:
            return _result(self.path, entry.name, kind or Result, in_home())
        except DAMAGED:
            return None


def origin_of(sources: Mapping[str, str]) -> str:
    """Say in a sentence where the weights of models came from."""
    groups: dict[str, list[str]] = {}
    for ref, source in sources.items():
        groups.setdefault(source, []).append(short_name(ref))
    origins = "; ".join(f"{listed(names)}: {source}" for source, names in groups.items())
    return f"Models that are not included: {origins}."


def whereabouts_of(sources: Mapping[str, str]) -> str:
    """Say where models came from, and where a run here looks for those that are folders."""
    paths = [PurePath(ref.removeprefix("path:")) for ref in sources if ref.startswith("path:")]
    places = sorted({str(path.parent) for path in paths})
    named = listed([path.name for path in paths])
    here = f" A run here looks for {named} in {listed(places)}." if paths else ""
    return f"{origin_of(sources)}{here}"


def default_shelf() -> Shelf:
    """Open the shelf beside the precomputed results; nothing is on it without these."""
    precomputed = default_precomputed()
    return Shelf(precomputed.path.with_name(FILE) if precomputed is not None else Path())


def shelved(study: str, spec: Any, kind: type[Any] | None = None) -> Any:
    """Return the result, of this kind, of a study with these options from the shelf; None if it is
    not there."""
    shelf = default_shelf()
    entry = shelf.find(study, spec)
    return None if entry is None else shelf.open(entry, kind)


def is_shelved(study: str, spec: Any) -> bool:
    """Whether the result of a study with these options is on the shelf."""
    return default_shelf().find(study, spec) is not None


def is_wanted(options: Mapping[str, Any]) -> bool:
    """Whether a run with these options reads precomputed results; if so, report that all is
    there."""
    if (options.get("store") or current_store()).precomputed is None:
        return False
    if (report := options.get("progress")) is not None:
        report(ALL_SHIPPED)
    return True


def compared(result: Any, shipped: Any) -> Any:
    """Add a notice to a result for each of its models that is not the one of the result shipped, or
    that cannot be compared with it."""
    before, now = (each.provenance.get("fingerprints", {}) for each in (shipped, result))
    differences = [difference(ref, before[ref], now[ref]) for ref in now if ref in before]
    return replace(result, notices=(*result.notices, *filter(None, differences)))


def content_of(ref: str, fingerprint: str) -> str:
    """Return the sha256 by which a model's content can be compared, of a fingerprint that may name
    the Hub's commit instead; "" where nobody knows it."""
    if HASHES.fullmatch(fingerprint):
        return fingerprint
    from core.models.hub.listing import known_by

    weights, parsed = "", parse_ref(ref)
    if parsed.kind == "hub":
        with suppress(ModelError):  # the Hub does not answer now
            weights = known_by(parsed)[1]
    return weights if HASHES.fullmatch(weights) else ""


def difference(ref: str, before: str, now: str) -> str:
    """Say that a model is not the one of the result shipped, or that this cannot be said; "" where
    it is."""
    if now == before:
        return ""
    content = content_of(ref, now)
    if content == before:
        return ""
    if not (content and HASHES.fullmatch(before)):
        return (
            f"{ref} could not be compared with the model of the precomputed result, because the "
            "sha256 of the weights is not known for both."
        )
    return (
        f"{ref} is not the model of the precomputed result: its content has the hash "
        f"{content[:DIGITS]} instead of {before[:DIGITS]}."
    )


def write_shelf(path: Path, results: Iterable[tuple[Shelved, Result]]) -> None:
    """Write the file whole; the same results give the same bytes. Large arrays, which only charts
    need, are written in single precision."""
    values: dict[str, dict[str, Any]] = {LIST: {LIST: []}}
    for entry, result in results:
        values[LIST][LIST].append(json.loads(json.dumps(asdict(entry))))
        record = json.loads(result_json(result))
        rows = {name: [None] * len(table) for name, table in result.tables.items()}
        numbers = decode(result_numbers(replace(result, arrays=_single(result.arrays))))
        values[entry.name] = {**numbers, RECORD: record | {"tables": rows}}
    here = in_home()
    portable = {name: replace_prefix(value, here, FROM_HOME) for name, value in values.items()}
    write_precomputed(path, {name: encode(value) for name, value in portable.items()})


def _single(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name: array.astype(np.float32)
        if array.dtype == np.float64 and array.size > LARGE
        else array
        for name, array in arrays.items()
    }


def _is_of(entry: Shelved, study: str, spec: Spec) -> bool:
    if entry.study != study:
        return False
    try:
        return bool(entry.spec(type(spec)) == spec)
    except PalimpsestError:
        return False


@remembered(4, state=lambda path, home: file_state(path))
def _entries(path: Path, home: str) -> tuple[Shelved, ...]:
    return tuple(Shelved(**each) for each in _value(path, LIST, home)[LIST])


@remembered(MOST, state=lambda path, name, kind, home: file_state(path))
def _result(path: Path, name: str, kind: type[Any], home: str) -> Any:
    value = _value(path, name, home)
    return read_result(value[RECORD], value, kind)


def _value(path: Path, name: str, home: str) -> Any:
    """Read the value of a name, with folders as they are called here; KeyError without one."""
    return replace_prefix(decode(Precomputed(path).get_many([name])[name]), FROM_HOME, home)


def in_home() -> str:
    """Return how references to folders in the home folder begin on this computer."""
    return f"path:{Path.home()}/"


def replace_prefix(value: Any, before: str, after: str) -> Any:
    """Rename the beginning of references in the texts of a decoded value; arrays are left as they
    are.

    Example:
        >>> replace_prefix({"base": ["path:/home/a/model"]}, "path:/home/a/", FROM_HOME)
        {'base': ['path:~/model']}
    """
    again = partial(replace_prefix, before=before, after=after)
    if isinstance(value, str):
        return value.replace(before, after)
    if isinstance(value, list | tuple):
        return [again(each) for each in value]
    if isinstance(value, Mapping):
        return {again(name): again(each) for name, each in value.items()}
    return value
