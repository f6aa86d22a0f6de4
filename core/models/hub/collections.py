"""Public models that forms offer offline too, and those that belong together, with what a study of
them reads: seeds, training runs, fine-tunes: the records of `public.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

Values = Mapping[str, str | tuple[str, ...]]

FILE = Path(__file__).with_name("public.toml")
ALL_MULTIBERTS = "hub:google/multiberts-seed_*"
"""All 25 seeds, as one reference."""


@dataclass(frozen=True)
class Preset:
    """A public model: reference, base and data set."""

    ref: str
    base: str = ""
    data: str = ""


@dataclass(frozen=True)
class Collection:
    """Public models that are studied together.

    Attributes:
        name: Short name, for commands.
        title: Name in forms.
        about: What they are, in a sentence.
        models: References.
        parameters: Of each model.
        bytes_each: Stored per parameter.
        values: Name of a study -> the options that choose these models in it.
    """

    name: str
    title: str
    about: str
    models: tuple[str, ...]
    parameters: float
    bytes_each: int
    values: Mapping[str, Values]

    @property
    def download(self) -> float:
        """Gigabytes of all models."""
        return len(self.models) * self.parameters * self.bytes_each / 1e9

    @property
    def sentence(self) -> str:
        """Say what the models are and what they cost."""
        return (
            f"{self.about} {len(self.models)} models of {self.parameters / 1e6:,.0f} million "
            f"parameters, {self.download:.0f} GB to download."
        )


def _read() -> tuple[tuple[Preset, ...], tuple[Collection, ...]]:
    """Read the file; raises TypeError or KeyError for a record that is no preset or collection."""
    content = tomllib.loads(FILE.read_text(encoding="utf8"))
    presets = [
        Preset(**record, ref=ref) for record in content["presets"] for ref in record.pop("refs")
    ]
    refs = [preset.ref for preset in presets]
    return tuple(presets), tuple(_collection(refs, **record) for record in content["collections"])


def _collection(
    refs: list[str], models: list[str], values: Mapping[str, Mapping[str, Any]], **record: Any
) -> Collection:
    """Make a collection of a record, with the models that its patterns match among these."""
    named = tuple(ref for each in models for ref in matching(refs, each) or [each])
    chosen = {
        study: {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
        }
        for study, options in values.items()
    }
    about = " ".join(record.pop("about").split())
    return Collection(**record, about=about, models=named, values=chosen)


PRESETS, COLLECTIONS = _read()
"""The public models, and the collections in the order in which they are offered."""


def collections_for(study: str) -> list[Collection]:
    """List the collections that a study can be asked about.

    Example:
        >>> [collection.name for collection in collections_for("align")]
        ['multiberts', 'polypythias']
    """
    return [collection for collection in COLLECTIONS if study in collection.values]


def public_refs() -> tuple[str, ...]:
    """List the references that patterns of public models stand for."""
    refs = (preset.ref for preset in PRESETS)
    return tuple(dict.fromkeys((*refs, *(ref for each in COLLECTIONS for ref in each.models))))
