"""A sweep's file: studies with lists of values, whose combinations are its cells.

    study: rsa
    compare: [zoo:parse-0, zoo:nli-0]     # a list: a cell for each of its entries
    measure: [rsa, cka-debiased]
    sentences: 100                        # a single value: the same in every cell

Keys are the names of the study's options. An entry that is a list itself is one value of several
models, layers or words; a pattern in a list stands for the models that it matches. Values are read
as a flag's text is: YAML would take 030 for 24, and the word "no" for a truth value.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import yaml

from core.catalogue import STUDIES
from core.errors import PalimpsestError, SpecError, nearest
from core.models.patterns import matching_refs
from core.models.references import is_of_revisions, is_pattern
from core.options import Option, Spec, options_of, refs_of
from core.options.checks import matching_presets

STUDY, TABLE = "study", "table"  # keys that are no options
MOST_CELLS = 20_000
LARGEST_FILE = 2**18  # bytes; YAML's reader takes 10 s for them
NEAR = 0.5  # similarity of a name that is suggested for a misspelt one
TOGETHER = (
    "Each entry of a list is a value of its own; "
    "put values that belong together into a list of their own, as in [[a, b]]"
)


class _Reader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads lists, mappings and text; a value that is left out or null is None."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}
    yaml_constructors: ClassVar[dict[Any, Any]] = {
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.endswith((":str", ":seq", ":map", ":null"))
    }


for _kind, _form in (("null", r"(?:~|null|Null|NULL)?$"), ("merge", "<<$")):
    _Reader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(_form), None)


@dataclass(frozen=True)
class Cell:
    """One study with one setting.

    Attributes:
        study: Name of the study.
        setting: Options that the file names, and their values here.
        name: The study, and the values that differ between cells.
        spec: The study's options; None where the values are invalid together.
        problem: Why they are.
        table: The table of the result that is kept; "" for the main one.
    """

    study: str
    setting: Mapping[str, Any]
    name: str
    spec: Spec | None
    problem: str = ""
    table: str = ""

    @cached_property
    def key(self) -> str:
        """Identify the cell by its study, all options and the table, in 12 hexadecimal digits."""
        options = self.spec.plain() if self.spec is not None else dict(self.setting)
        text = json.dumps([self.study, options, self.table], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it names, by which cells are kept together on a cluster."""
        return refs_of(self.spec) if self.spec is not None else ()


@dataclass(frozen=True)
class Sweep:
    """All cells of a file.

    Attributes:
        name: Of the file, without its ending.
        text: What the file says.
        cells: In the order of the file, the last option varying fastest.
    """

    name: str
    text: str
    cells: tuple[Cell, ...] = field(repr=False)

    @property
    def studies(self) -> tuple[str, ...]:
        """The names of its studies."""
        return tuple(dict.fromkeys(cell.study for cell in self.cells))


def read_sweep(path: Path) -> Sweep:
    """Read a sweep's file.

    Raises:
        SpecError: If it cannot be read, names a study or an option that does not exist, gives an
            option an invalid value, or has more than `MOST_CELLS` cells.
    """
    text = _read(path)
    try:
        reader = _Reader(text)
        root = reader.get_single_node()
        repeated = _repeated(root)
        content = reader.construct_document(root) if root is not None else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecError(f"{path.name} is not valid YAML{_place(error)}: correct it.") from error
    if repeated is not None:
        line, key = repeated.start_mark.line + 1, str(repeated.value)
        raise SpecError(f"{path.name} has the key {key!r} twice, again in line {line}: keep one.")
    blocks = content if isinstance(content, list) else [content]
    try:
        cells: dict[str, Cell] = {}
        for cell in itertools.chain.from_iterable(map(_cells, blocks)):
            cells[cell.key] = cell
            if len(cells) > MOST_CELLS:
                raise _too_many(len(cells))
    except PalimpsestError as error:
        raise SpecError(f"{path.name}: {error}") from error
    sweep = Sweep(path.stem, text, tuple(cells.values()))
    if all(cell.spec is None for cell in sweep.cells):
        raise SpecError(f"{path.name}: {sweep.cells[0].problem}")
    return sweep


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise SpecError(
                f"{path} is too large for a sweep: choose a file of at most "
                f"{LARGEST_FILE // 1024} kB."
            )
        return path.read_bytes().decode("utf8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SpecError(f"The sweep {path} cannot be read: {reason}. Check the path.") from error


def _repeated(root: Any) -> Any:
    """Find a key that stands twice in its mapping, which YAML's reader would pass over; None if
    there is none."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        names = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            name = key.value.replace("-", "_")  # as `_option` reads it
            if name in names:
                return key
            names.add(name)
        waiting += [value for _, value in node.value]
    return None


def _place(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None)
    return f" in line {mark.line + 1} ({problem})" if mark is not None else ""


def _cells(block: Any) -> Iterator[Cell]:
    """Cross the values of one study."""
    if not isinstance(block, dict) or not isinstance(block.get(STUDY), str):
        raise SpecError(
            "A sweep is a mapping, or a list of mappings, "
            f"with the key {STUDY!r} and options of that study, such as “study: rsa”."
        )
    study = block[STUDY]
    if study not in STUDIES:
        raise SpecError(f"There is no study {study!r}{_nearest(study, {n: n for n in STUDIES})}.")
    options = {option.name: option for option in options_of(STUDIES[study].Spec)}
    values: dict[str, list[Any]] = {}
    for key, given in block.items():
        if key not in (STUDY, TABLE):
            option = _option(study, options, key)
            values[option.name] = _values(study, option, given)
    count = math.prod(len(each) for each in values.values())
    if count > MOST_CELLS:
        raise _too_many(count)
    table = str(block.get(TABLE) or "")
    crossed = [name for name, each in values.items() if len(each) > 1]
    for combination in itertools.product(*values.values()):
        setting = dict(zip(values, combination, strict=True))
        varied = [f"{name} {' '.join(options[name].write(setting[name]))}" for name in crossed]
        name = f"{study}: {', '.join(varied)}" if varied else study
        try:
            spec, problem = STUDIES[study].Spec(**setting), ""
        except PalimpsestError as error:  # values that do not go together
            spec, problem = None, str(error)
        yield Cell(study, setting, name, spec, problem, table)


def _option(study: str, options: Mapping[str, Option], key: Any) -> Option:
    """Find the option of a key, which may have hyphens as its flag does."""
    name = str(key).replace("-", "_")
    if name not in options:
        labels = {option.label.lower(): option.name for option in options.values()}
        near = _nearest(name, labels | {each: each for each in options})
        raise SpecError(f"The study {study} has no option {str(key)!r}{near}.")
    return options[name]


def _nearest(name: str, names: Mapping[str, str]) -> str:
    """Suggest the name that is most like a misspelt one."""
    if near := nearest(name.lower(), names, NEAR):
        return f"; the nearest is {names[near]!r}"
    return f": choose one of {', '.join(dict.fromkeys(names.values()))}"


def _values(study: str, option: Option, given: Any) -> list[Any]:
    """Read the values of an option: one, or one for each entry of a list."""
    if given == [] or given is None:
        raise SpecError(f"{study}: {option.name} has no value. Give one, or remove the key.")
    if not isinstance(given, list):
        return [_value(option, given)]
    try:
        values = [_value(option, part) for entry in given for part in _matches(option, entry)]
    except PalimpsestError as error:
        if option.many and not any(isinstance(entry, list) for entry in given):
            raise SpecError(f"{error} {TOGETHER}.") from error
        raise
    return list({repr(value): value for value in values}.values())


def _matches(option: Option, entry: Any) -> Iterable[Any]:
    """Expand a pattern of models in a list; return anything else unchanged."""
    if option.kind not in ("model", "models") or not isinstance(entry, str):
        return (entry,)
    if entry.strip().startswith("hub:") and not is_of_revisions(entry):
        return matching_presets(option, entry)
    return matching_refs(entry) if is_pattern(entry) else (entry,)


def _value(option: Option, entry: Any) -> Any:
    """Read one value: a text, or a list of them."""
    parts = entry if isinstance(entry, list) else [entry]
    if not all(isinstance(part, str) for part in parts):
        raise option.refuse(reprlib.repr(entry))
    if isinstance(entry, list) and not option.many:
        raise option.refuse(entry)
    return option.read(parts)


def _too_many(count: int) -> SpecError:
    return SpecError(f"These are {count:,} cells; a sweep has at most {MOST_CELLS:,}. Split it.")
