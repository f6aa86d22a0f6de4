"""What the seed-alignment page or the command line may ask for, checked before anything runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

from core.alignment.registry import DEFAULT_METHODS, METHODS
from core.errors import SpecError
from core.models import parse_ref

ITEMS = ("words", "cls", "mean")
MOST_MODELS = 25
GRID_METHODS = tuple(name for name, method in METHODS.items() if method.kind == "closed form")


@dataclass(frozen=True)
class AlignSpec:
    """One study: every model of a group aligned with every other, in both directions.

    Attributes:
        models: References, two or more; every ordered pair is a map from source to target.
        against: A second group, aligned among itself and shown beside the first (fine-tuned beside pretrained).
        methods: Names in `METHODS`.
        corpus: CorpusRef.
        genres: Genres kept; all where empty.
        items: "words", "cls" or "mean".
        limit: Sentences read; all their words are rows.
        layers: Layers aligned; all where empty.
        grid: A closed-form method for the layer-by-layer map of the first pair; none where empty.
        draws: Bootstrap draws over models and sentences.
        seed: Seed of splits, networks and draws.
    """

    models: tuple[str, ...]
    against: tuple[str, ...] = ()
    methods: tuple[str, ...] = DEFAULT_METHODS
    corpus: str = "demo"
    genres: tuple[str, ...] = ()
    items: str = "words"
    limit: int = 300
    layers: tuple[int, ...] = ()
    grid: str = "ridge"
    draws: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("models", "against", "methods", "genres", "layers"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("models", "against"):
            refs = tuple(dict.fromkeys(str(parse_ref(ref)) for ref in getattr(self, name)))
            object.__setattr__(self, name, refs)
        if len(self.models) < 2:
            raise SpecError("Choose at least two models to align, such as zoo:seed-0 and zoo:seed-1.")
        if len(self.against) == 1:
            raise SpecError("The second group needs at least two models, or none.")
        if len(self.models) > MOST_MODELS or len(self.against) > MOST_MODELS:
            raise SpecError(f"At most {MOST_MODELS} models in a group: every ordered pair is a study of its own.")
        if not self.methods:
            raise SpecError(f"Choose at least one method among {', '.join(METHODS)}.")
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown:
            raise SpecError(f"There is no alignment method {unknown[0]!r}; choose from {', '.join(METHODS)}.")
        if self.grid and self.grid not in GRID_METHODS:
            raise SpecError(f"The layer-by-layer map takes one of {', '.join(GRID_METHODS)}, not {self.grid!r}.")
        if self.items not in ITEMS:
            raise SpecError(f"items must be one of {', '.join(ITEMS)}, got {self.items!r}.")
        if not 20 <= self.limit <= 100_000:
            raise SpecError(f"Sentences must be between 20 and 100,000, got {self.limit}.")
        if not 20 <= self.draws <= 10_000:
            raise SpecError(f"Bootstrap draws must be between 20 and 10,000, got {self.draws}.")

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The groups by name."""
        return {"models": self.models, **({"against": self.against} if self.against else {})}

    def pairs(self) -> list[tuple[str, str, str]]:
        """(group, source, target) of every ordered pair."""
        return [(group, *pair) for group, refs in self.groups.items() for pair in permutations(refs, 2)]

    def plain(self) -> dict[str, Any]:
        """The spec as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
