"""Palimpsest as pip installs it: everything lies in this folder, under one name of its own.

The parts import each other as `core`, `ui`, `extras`, ... as they do in the repository, so what is
installed is what is tested. This folder is put first on the path for that, and `palimpsest.core` is
`core` itself, not a second copy.

Raises:
    ImportError: If another `core` or `ui` has been imported into this process.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

PARTS = ("core", "extras", "ui", "zoo")
HERE = Path(__file__).resolve().parent
# beside this file, or two folders up where the repository is installed as editable
ROOT = next(folder for folder in (HERE, HERE.parents[1]) if (folder / "core").is_dir())


class _Parts(MetaPathFinder, Loader):
    """Gives `palimpsest.core.text` as `core.text`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        if package != __name__ or rest.partition(".")[0] not in PARTS:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.name.partition(".")[2])
        self._own = getattr(self, "_own", {}) | {spec.name: module.__spec__}
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is: it has been executed, and keeps its own name."""
        assert module.__spec__ is not None
        module.__spec__ = self._own.pop(module.__spec__.name)


def _open() -> None:
    for part in PARTS:
        module = sys.modules.get(part)
        file = getattr(module, "__file__", None)
        if module is not None and (file is None or ROOT not in Path(file).resolve().parents):
            raise ImportError(
                f"Palimpsest has a package {part!r}, and another of this name is in use "
                f"({file or 'a folder'}): import palimpsest first, or in a process of its own."
            )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    sys.meta_path.insert(0, _Parts())


_open()
