"""Options of the lineage study."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.patterns import matching_refs
from core.weights.clusters.members import MOST_MODELS


@dataclass(frozen=True)
class LineageSpec(options.Spec):
    """Which models are joined to trees, and by which of their matrices."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:*",),
        most=MOST_MODELS,
        patterns=True,
        help="Models of one architecture: zoo:* stands for all included ones, path:/runs/* for all "
        "in a folder.",
    )
    families: tuple[str, ...] = options.words(
        "Families", help="Matrix families to include, such as query or ff1; leave empty for all."
    )
    seed: int = options.seed("Seed of the permuted rows and of the sketches of large matrices.")

    @property
    def refs(self) -> tuple[str, ...]:
        """List the models, each once.

        Raises:
            SpecError: If a pattern matches nothing.
            ModelError: If a text is not a model reference.
        """
        return tuple(dict.fromkeys(ref for text in self.models for ref in matching_refs(text)))
