"""Options of the lineage study."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.errors import SpecError
from core.models.patterns import every_match
from core.studies.weights.clusters.members import MOST_MODELS
from core.studies.weights.clusters.spec import families_option


@dataclass(frozen=True)
class LineageSpec(options.Spec):
    """Which models are joined to trees, and by which of their matrices."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:*",),
        most=MOST_MODELS,
        patterns=True,
        phrase="lineage of {}",
        help="Models of one architecture: "
        "zoo:* stands for all included ones, path:/runs/* for all in a folder.",
    )
    families: tuple[str, ...] = families_option()
    pair: tuple[str, ...] = options.models(
        "Pair",
        (),
        least=0,
        most=2,
        help="Two fine-tunes of one base whose changes are compared by matrix; "
        "empty for the pair with the most similar changes.",
    )
    seed: int = options.seed("Seed of the permuted rows and of the sketches of large matrices.")

    def check(self) -> None:
        if len(set(self.pair)) == 1:
            raise SpecError("A pair is two different models; name another, or none.")

    @property
    def refs(self) -> tuple[str, ...]:
        """List the models, each once; raises as `every_match`."""
        return every_match(self.models)
