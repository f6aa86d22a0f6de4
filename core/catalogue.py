"""The catalogue of all studies: commands, pages, prices, precomputed results and tests iterate over
it.

A study's folder states its purpose in `words.toml`; the study itself is imported at its first use,
so that listing the commands takes no time. Folders of other packages may be some, too, and those in
`extras` are: see `core.maths.plugins`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from core.maths.plugins import OWN, Registry
from core.results.words import words_beside
from core.studies.alignment import barrier, seeds, stitching
from core.studies.probes import behaviour, edges, trees
from core.studies.probes import training as probe_training
from core.studies.rsa import audit, bits, divergence, layers, lens, spaces, swap, tokens, training
from core.studies.weights import arithmetic, clusters, intruders, lineage

if TYPE_CHECKING:
    from core.study import Study


class Catalogue(MutableMapping[str, "Study"]):
    """Studies by name; each is imported at its first use."""

    def __init__(self, folders: Mapping[str, ModuleType]) -> None:
        """Take each study's folder by its name."""
        self._own, self._folders = frozenset(folders), Registry("studies", ModuleType, folders)
        self._studies: dict[str, Study] = {}

    @property
    def added(self) -> tuple[str, ...]:
        """Names of the studies that packages of others add."""
        return tuple(
            name
            for name, folder in self._folders.items()
            if name not in self._own and not folder.__name__.startswith(f"{OWN}.")
        )

    def __getitem__(self, name: str) -> Study:
        if name not in self._studies:
            study: Study = import_module(f"{self._folders[name].__name__}.study").STUDY
            self._studies[name] = study
        return self._studies[name]

    def __setitem__(self, name: str, study: Study) -> None:
        self._studies[name] = study

    def __delitem__(self, name: str) -> None:
        del self._studies[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._folders, *self._studies)))

    def __len__(self) -> int:
        return len({*self._folders, *self._studies})

    def purposes(self) -> dict[str, str]:
        """Return the purpose of each study without importing any."""
        return {
            name: self._studies[name].purpose
            if name in self._studies
            else words_beside(str(self._folders[name].__file__)).purpose
            for name in self
        }


STUDIES = Catalogue(
    {
        "rsa": layers,
        "tokens": tokens,
        "swap": swap,
        "divergence": divergence,
        "lens": lens,
        "bits": bits,
        "training": training,
        "audit": audit,
        "spaces": spaces,
        "probe": trees,
        "probe edges": edges,
        "probe training": probe_training,
        "probe behaviour": behaviour,
        "weights": clusters,
        "weights intruders": intruders,
        "weights lineage": lineage,
        "weights arithmetic": arithmetic,
        "align": seeds,
        "align stitch": stitching,
        "align barrier": barrier,
    }
)
