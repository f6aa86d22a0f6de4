"""The order of the house as contracts: each takes a tree of sources and names what breaks it, one
line a breach.

Imports are read from the text, those inside functions and under TYPE_CHECKING too: an arrow is an
arrow.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TOPS = ("app.py", "pages", "ui", "core", "extras", "zoo", "benchmarks")
KITS = (  # what every study is written with
    *("core.studies.kit", "core.studies.task_kit"),
    *("core.studies.text_kit", "core.studies.chart_kit"),
)
FLOORS = (  # from top to bottom; what stands on no floor (core.__main__) is bound to none
    ("app", "pages"),
    ("ui", "core.commands", "core.sweep", "benchmarks"),
    ("core.catalogue",),
    (
        "core.studies.rsa",
        "core.studies.probes",
        "core.studies.weights",
        "core.studies.alignment",
        "extras",
        "zoo",
    ),
    KITS,
    ("core.study",),
    ("core.text", "core.vectors", "core.results", "core.options"),
    ("core.models",),
    ("core.runs",),
    ("core.maths",),
    ("core.limits", "core.errors"),
)
ROOMS = (
    "core.studies.rsa",
    "core.studies.probes",
    "core.studies.weights",
    "core.studies.alignment",
    "extras.rsa",
    "extras.probes",
    "extras.alignment",
)
SOLE_IMPORTERS = {
    "diskcache": "core.runs.store",
    "spacy": "core.text.parsing",
    "dask": "core.runs.cluster",
    "distributed": "core.runs.cluster",
}
KIT = "core.studies.kit"
PRODUCT = ("core", "extras", "ui", "pages", "app")
BUILT = ("core.", "extras.", "ui.")
MOST_MODULES = 14  # of one folder of core or ui
MOST_LINES = 350
MOST_KNOWN = 16  # other modules that one module imports
MOST_NAMES, MOST_OF_ALL = 25, 40  # that one module imports: from elsewhere, and all together
REGISTRIES = {  # modules that import what they list, with the reason
    "core.catalogue": "the list of studies",
    "core.models.architectures": "the list of model families",
}
CONTRACTED = ("core.maths", "core.study", "core.options", "core.errors", "core.studies.kit")
SECTION = re.compile(r"^\s*(Args|Returns|Yields|Raises):$", re.M)  # of a docstring
SHOWN = re.compile(r"^::: (\S+)$", re.M)  # a module on a page of the API
VAGUE = frozenset({"found", "known", "one", "own", "other", "thing", "stuff"})
MOST_VAGUE = 1  # assignments to names that do not say what they hold


@dataclass(frozen=True)
class Module:
    """One source file.

    Attributes:
        name: As it is imported, such as "core.runs.store".
        folder: Where it lies, such as "core.runs".
        package: Whether it is an `__init__.py`.
        lines: How many it has.
        tree: What it says.
        imported: Dotted names that it imports, of modules or of what stands in them.
    """

    name: str
    folder: str
    package: bool
    lines: int
    tree: ast.Module
    imported: frozenset[str]


@dataclass(frozen=True)
class House:
    """All modules by name, which imports which, and which the pages of the API show."""

    modules: Mapping[str, Module]
    arrows: Mapping[str, frozenset[str]]
    shown: frozenset[str]


def read_house(root: Path) -> House:
    """The sources under `root`."""
    files = [
        file
        for top in TOPS
        for file in ([root / top] if top.endswith(".py") else sorted((root / top).rglob("*.py")))
        if file.is_file()
    ]
    modules = {module.name: module for module in (_read(file, root) for file in files)}
    arrows = {
        name: frozenset(
            target for target in (_module_of(each, modules) for each in module.imported) if target
        )
        - {name}
        for name, module in modules.items()
    }
    pages = sorted((root / "docs" / "api").glob("*.md"))
    shown = [SHOWN.findall(page.read_text(encoding="utf8")) for page in pages]
    return House(modules, arrows, frozenset(name for names in shown for name in names))


def _read(file: Path, root: Path) -> Module:
    text, place = file.read_text(encoding="utf8"), file.relative_to(root)
    name = place.with_suffix("").as_posix().replace("/", ".")
    tree = ast.parse(text)
    imported = frozenset(_imported(tree, name.split(".")[:-1]))
    package = place.stem == "__init__"
    folder = name.rpartition(".")[0]
    return Module(name.removesuffix(".__init__"), folder, package, text.count("\n"), tree, imported)


def _imported(tree: ast.Module, package: list[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join(filter(None, (*above, node.module)))
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _module_of(name: str, modules: Mapping[str, Module]) -> str:
    """The module that an imported name is, or stands in; "" where that is none of the house's."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def within(name: str, place: str) -> bool:
    """Whether a module is `place` or lies in it."""
    return name == place or name.startswith(f"{place}.")


def _arrows(house: House) -> Iterator[tuple[str, str]]:
    return (
        (origin, target) for origin, targets in house.arrows.items() for target in sorted(targets)
    )


def _floor(name: str) -> int | None:
    return next(
        (
            number
            for number, floor in enumerate(FLOORS)
            if any(within(name, place) for place in floor)
        ),
        None,
    )


def arrows_up(house: House) -> list[str]:
    """Imports of something on a floor above."""
    breaches = []
    for origin, target in _arrows(house):
        start, end = _floor(origin), _floor(target)
        if start is not None and end is not None and end < start:
            breaches.append(f"{origin} imports {target}, which lies above it")
    return breaches


def rooms_that_meet(house: House) -> list[str]:
    """Imports from one room into another, and from one page into another."""
    pages = [name for name in house.modules if name.startswith("pages.")]
    return [
        f"{origin} imports {target}, of another room"
        for doors in (ROOMS, pages)
        for origin, target in _arrows(house)
        for start, end in [(_room(origin, doors), _room(target, doors))]
        if start and end and start.rpartition(".")[2] != end.rpartition(".")[2]
    ]


def _room(name: str, doors: Sequence[str]) -> str:
    return next((door for door in doors if within(name, door)), "")


def circles_of_files(house: House) -> list[str]:
    """Modules that import each other, by whatever detour."""
    return [f"a circle of files: {', '.join(circle)}" for circle in circles(house.arrows)]


def circles_of_folders(house: House) -> list[str]:
    """Folders of core, extras or ui whose modules import each other, by whatever detour.

    A folder and the one that it lies in are one place, but not among the studies: what those of a
    room share knows none of them.
    """
    between: dict[str, set[str]] = defaultdict(set)
    for origin, target in _arrows(house):
        start, end = house.modules[origin].folder, house.modules[target].folder
        nested = within(start, end) or within(end, start)
        nested = nested and not start.startswith(("core.studies.", "extras."))
        if not nested and start.startswith(BUILT) and end.startswith(BUILT):
            between[start].add(end)
    return [f"a circle of folders: {', '.join(circle)}" for circle in circles(between)]


def circles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Sets of more than one node that all reach each other (Tarjan's strongly connected
    components), sorted."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for target in arrows.get(node, ()):
            if target not in order:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], order[target])
        if lowest[node] == order[node]:
            place = stack.index(node)
            component = stack[place:]
            del stack[place:]
            if len(component) > 1:
                result.append(sorted(component))

    for node in arrows:
        if node not in order:
            visit(node)
    return sorted(result)


def full_folders(house: House) -> list[str]:
    """Folders of core, extras or ui with more modules than a reader can look over."""
    inside: dict[str, int] = defaultdict(int)
    for module in house.modules.values():
        if module.folder.partition(".")[0] in ("core", "extras", "ui") and not module.package:
            inside[module.folder] += 1
    return [
        f"{folder} holds {count} modules"
        for folder, count in inside.items()
        if count > MOST_MODULES
    ]


def wrong_importers(house: House) -> list[str]:
    """Imports of a package that only one module may import, and of streamlit in core."""
    breaches = []
    for module in house.modules.values():
        for name in sorted({each.partition(".")[0] for each in module.imported}):
            sole = SOLE_IMPORTERS.get(name, module.name)
            if module.name.partition(".")[0] in PRODUCT and module.name != sole:
                breaches.append(f"{module.name} imports {name}, which belongs to {sole}")
            if within(module.name, "core") and name == "streamlit":
                breaches.append(f"{module.name} imports streamlit")
    return breaches


def long_modules(house: House) -> list[str]:
    """Modules with more lines than can be read in one go."""
    return [
        f"{module.name} has {module.lines} lines"
        for module in _ours(house)
        if module.lines > MOST_LINES
    ]


def wide_modules(house: House) -> list[str]:
    """Modules that know more others than a reader can keep in mind."""
    return [
        f"{module.name} imports {len(house.arrows[module.name])} modules"
        for module in _ours(house)
        if len(house.arrows[module.name]) > MOST_KNOWN and module.name not in REGISTRIES
    ]


def many_names(house: House) -> list[str]:
    """Modules that import more names than a reader can keep in mind: from other folders, the kits
    apart, and with those and its own folder's. A module whose parts are named in full is one."""
    breaches = []
    for module in _ours(house):
        names = [name for name in module.imported if _module_of(name, house.modules)]
        place = module.name if module.package else module.folder
        away = [
            name
            for name in names
            for origin in [_module_of(name, house.modules)]
            if house.modules[origin].folder != place and origin not in (place, *KITS)
        ]
        if module.name not in REGISTRIES and (len(away) > MOST_NAMES or len(names) > MOST_OF_ALL):
            breaches.append(
                f"{module.name} imports {len(names)} names, {len(away)} of them from elsewhere"
            )
    return breaches


def vague_names(house: House) -> list[str]:
    """More assignments than allowed to names that do not say what they hold."""
    places = [
        f"{module.name}:{node.lineno} {node.id}"
        for module in _ours(house)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE
    ]
    return places if len(places) > MOST_VAGUE else []


def long_docstrings(house: House) -> list[str]:
    """Docstrings with sections of functions that are neither mathematics nor a contract nor on a
    page of the API: there, a sentence says what names and types do not."""
    return [
        f"{module.name}:{node.lineno} {node.name} has sections in its docstring"
        for module in _ours(house)
        if within(module.name, "core") or within(module.name, "extras") or within(module.name, "ui")
        if module.name not in house.shown
        and not any(within(module.name, place) for place in CONTRACTED)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef) and SECTION.search(ast.get_docstring(node) or "")
    ]


def _ours(house: House) -> list[Module]:
    """All modules but those of the benchmarks, which are scripts."""
    return [module for module in house.modules.values() if not within(module.name, "benchmarks")]


def extras_alone(house: House) -> list[str]:
    """Imports by core of what is added to it: it comes in by the entry points of a stranger."""
    return [
        f"{origin} imports {target}, which is registered instead"
        for origin, target in _arrows(house)
        if within(origin, "core") and within(target, "extras")
    ]


def mathematics_alone(house: House) -> list[str]:
    """Imports by mathematics of anything else of the house but its errors."""
    return [
        f"{origin} imports {target}, and mathematics knows errors alone"
        for origin, target in _arrows(house)
        if within(origin, "core.maths") and not within(target, "core.maths")
        if target not in ("core.errors", "core")
    ]


def studies_by_the_door(house: House) -> list[str]:
    """Imports by a study of what the kit has from elsewhere: it is written as a stranger's is."""
    kit = house.modules.get(KIT)
    offered = kit.imported if kit else frozenset()
    return [
        f"{module.name} imports {name}, which {KIT} has"
        for module in house.modules.values()
        if module.name.endswith(".study") and module.name.startswith(("core.studies.", "extras."))
        for name in sorted(module.imported & offered)
    ]


def classes_of_pages(house: House) -> list[str]:
    """Classes in the scripts of pages, which run anew at every rerun: what knows a class, such as
    a cache, keeps those of all reruns."""
    return [
        f"{module.name}:{node.lineno} defines the class {node.name}"
        for module in house.modules.values()
        if within(module.name, "pages") or module.name == "app"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    ]


CONTRACTS: tuple[Callable[[House], list[str]], ...] = (
    arrows_up,
    rooms_that_meet,
    circles_of_files,
    circles_of_folders,
    full_folders,
    wrong_importers,
    extras_alone,
    mathematics_alone,
    long_modules,
    wide_modules,
    many_names,
    vague_names,
    long_docstrings,
    studies_by_the_door,
    classes_of_pages,
)
