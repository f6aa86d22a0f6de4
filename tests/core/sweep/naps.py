"""A study of one task that sleeps, says where it ran, and fails where it is told to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core import options
from core.catalogue import STUDIES
from core.errors import ModelError, SpecError
from core.maths.progress import tick
from core.results.findings import Findings
from core.results.words import Words
from core.runs.price import Price
from core.runs.runner import Outputs
from core.runs.tasks import Task, pure
from core.study import Study

STEP = 0.05  # seconds between two ticks
GOES = {"well": "", "badly": "a task fails", "wrong": "a bug", "empty": "a table without rows"}


@dataclass(frozen=True)
class NapSpec(options.Spec):
    """A model, a seed, and how it goes."""

    model: str = options.model("Model", "zoo:a", help="Its tasks stay together.")
    models: tuple[str, ...] = options.models("Models", (), least=0, help="Several.", patterns=True)
    layers: tuple[int, ...] = options.layers()
    corpus: str = options.corpus()
    share: float = options.number("Share", 0.5, low=0.0, high=1.0, help="A number.")
    seed: int = options.seed("Of nothing.")
    steps: int = options.whole("Steps", 0, low=0, high=10_000, help="Of sleep.")
    goes: str = options.choice("Goes", "well", GOES, help="How it ends.")
    log: str = options.line("Log", help="File with a line a task that began.")

    def check(self) -> None:
        if self.goes == "badly" and self.seed == 13:
            raise SpecError("goes takes well with the seed 13: choose another.")


@pure("tests.sweep.nap")
def nap(
    model: str, seed: int, share: float, steps: int, goes: str, log: str, layers: tuple[int, ...]
) -> dict[str, Any]:
    """Sleep, and say in which process."""
    if log:
        with Path(log).open("a") as file:
            file.write(f"{model} {seed} {os.getpid()}\n")
    for step in range(steps):
        tick(step / steps)
        time.sleep(STEP)
    if goes == "badly":
        raise ModelError(f"The model {model} cannot be read: choose another.")
    return {"process": os.getpid(), "value": seed / 2}


def prepare(spec: NapSpec, texts: Mapping[str, Any] | None = None) -> list[Task]:
    return []


def plan(spec: NapSpec, ready: Outputs) -> list[Task]:
    if spec.goes == "wrong":
        raise ZeroDivisionError("a bug")
    values = spec.plain()
    del values["corpus"], values["models"]
    good = Task.of("nap", nap, group=spec.model, **values)
    if spec.goes != "badly":
        return [good]
    return [Task.of("fine", nap, role="fine", **(values | {"goes": "well"})), good]


def collect(spec: NapSpec, ready: Outputs, outputs: Outputs) -> Findings:
    rows = [
        (spec.model, *value.values()) for value in outputs.values.values() if spec.goes != "empty"
    ]
    table = pd.DataFrame(rows, columns=["model", "process", "value"])
    beside = pd.DataFrame({"layer": [0, 1], "text": ["=1", None]})
    return Findings({"naps": table, "beside": beside}, "Slept.")


@dataclass(frozen=True)
class PricedStudy(Study):
    """A study whose price is given."""

    priced: Callable[[Any], Price] = lambda spec: Price(1.0 + spec.steps * STEP, 0.1, store=0.001)

    def price(self, spec: Any) -> Price:
        return self.priced(spec)


NAP = PricedStudy(
    name="nap",
    words=Words("Nap", "sleep"),
    Spec=NapSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
)


@pytest.fixture
def napping(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study is in the catalogue; a test that replaces it there leaves nothing behind."""
    monkeypatch.setitem(STUDIES, "nap", NAP)  # type: ignore[misc]


def runs(log: Path) -> list[list[str]]:
    """The tasks that began: model, seed, process."""
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []
