"""A study of one task that sleeps, for benchmarks of what runs beside tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core import options
from core.results.findings import Findings
from core.results.words import Words
from core.runs.price import Price
from core.runs.runner import Outputs
from core.runs.tasks import Task, pure
from core.study import Study

STUDY = "nap"


@dataclass(frozen=True)
class NapSpec(options.Spec):
    """A model, a seed, and how long the task sleeps."""

    model: str = options.model("Model", "zoo:a", help="Its tasks stay together.")
    number: int = options.whole("Number", 0, low=0, high=10_000, help="Of the cell.")
    seconds: float = options.number("Seconds", 1.0, low=0.0, high=10.0, help="That a task sleeps.")


@pure("benchmarks.nap")
def nap(model: str, number: int, seconds: float) -> dict[str, Any]:
    """Sleep, and return the process."""
    time.sleep(seconds)
    return {"process": os.getpid()}


def prepare(spec: NapSpec, texts: Mapping[str, Any] | None = None) -> list[Task]:
    """Prepare nothing."""
    return []


def plan(spec: NapSpec, ready: Outputs) -> list[Task]:
    """Plan one task."""
    return [Task.of("nap", nap, group=spec.model, **spec.plain())]


def collect(spec: NapSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Say in which process the task ran."""
    table = pd.DataFrame({"model": [spec.model], "process": [outputs.need("nap")["process"]]})
    return Findings({"naps": table}, "Slept.")


class PricedNap(Study):
    """It takes as long as it sleeps."""

    def price(self, spec: Any) -> Price:
        """Price a nap."""
        return Price(spec.seconds, 0.1)


NAP = PricedNap(
    name=STUDY,
    words=Words("Nap", "sleep"),
    Spec=NapSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
)
