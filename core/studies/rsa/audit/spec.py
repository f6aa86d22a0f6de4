"""The options of the audit."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.patterns import every_match
from core.models.steps import find_steps

KINDS = {
    "run": "checkpoints of one training run, in order",
    "seeds": "models of independent training runs",
}


@dataclass(frozen=True)
class AuditSpec(options.Spec):
    """One audit: checkpoints of a run with its final model, or models of several seeds."""

    models: tuple[str, ...] = options.steps(
        most=200, read="Steps of one run, or models of several seeds"
    )
    end: str = options.end(
        help="The end of the run, from which its order is recovered; a set of seeds has none."
    )
    kind: str = options.choice(
        "Checked as", "run", KINDS, help="What the models should be: one run, or independent seeds."
    )
    at_most: int = options.most_steps(50)

    @property
    def refs(self) -> tuple[str, ...]:
        """List the models in the claimed order; a run's final model is the last."""
        if self.kind == "run":
            return (*find_steps(self.models, self.end, self.at_most), self.end)
        return every_match(self.models)
