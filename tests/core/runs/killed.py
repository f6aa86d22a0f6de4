"""Studies whose processes are killed again and again: `python -m tests.core.runs.killed FOLDER`
prints what was seen.

A run is a child of this process, which has imported everything and computed nothing. It says on a
pipe what it finds and what it keeps; once it has kept twice it is killed. At the end comes one that
is left alone, and beside it one that never was interrupted, on a store of its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from core.maths.arrays import Value
from core.maths.maps.nonlinear import COUPLED, Inn
from core.maths.maps.registry import METHODS
from core.models import load_model
from core.results.export import Result, table_csv
from core.runs import states
from core.runs.states import StoredState
from core.runs.store import Store
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.study import STUDY as ALIGNMENT
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.study import STUDY as PROBING

KILLS = 3
ALIGN = AlignSpec(
    sentences=40,
    methods=("ridge", "kernel", "inn"),
    split="sentence",
    layers=(3,),
    grid="",
)
PROBE = ProbeSpec(
    models=("zoo:seed-0",),
    sentences=60,
    layers=(3,),
    rank=8,
    epochs=4,
    seeds=1,
    controls=1,
    untrained=False,
    draws=20,
)  # fmt: skip
SHORT = replace(COUPLED, steps=150)
STUDIES: dict[str, Callable[[Store], Result]] = {
    "align": lambda store: ALIGNMENT.run(ALIGN, store=store),
    "probe": lambda store: PROBING.run(PROBE, store=store),
}


def place(state: Value) -> int:
    """How far a state is: steps of networks, layers of kernels, batches of probes."""
    if "training" in state:
        return int(state["steps"][-1])
    if "drawn" in state:
        epoch, number, step = (int(state[name]) for name in ("epoch", "number", "step"))
        return 1_000_000 * epoch + 1_000 * number + step
    return len(state)


def child(study: str, store: Path, say: Callable[[dict[str, Any]], None]) -> None:
    """Run the study, saying what it finds and keeps; at the end its tables."""
    states.SHORTEST = states.LONGEST = 0.02
    keep, find = StoredState.keep, StoredState.find

    def keep_and_say(self: StoredState, state: Value) -> None:
        keep(self, state)
        say({"kept": place(state), "key": self._key})

    def find_and_say(self: StoredState) -> Value | None:
        state = find(self)
        say({"found": -1 if state is None else place(state), "key": self._key})
        return state

    StoredState.keep, StoredState.find = keep_and_say, find_and_say  # type: ignore[method-assign]
    METHODS["inn"] = replace(
        METHODS["inn"], make=lambda seed: Inn(blocks=1, schedule=SHORT, seed=seed)
    )
    opened = Store(store)
    result = STUDIES[study](opened)
    left = {key for key in SEEN if key in opened}
    say(
        {
            "tables": {name: table_csv(table).decode() for name, table in result.tables.items()},
            "left": sorted(left),
        }
    )


SEEN: set[str] = set()


def run(study: str, store: Path, kept: int | None) -> list[dict[str, Any]]:
    """What a run said until it had kept so often and was killed; None lets it end."""
    reading, writing = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reading)
        with os.fdopen(writing, "w", buffering=1) as pipe:
            child(study, store, lambda said: print(json.dumps(said), file=pipe))
        os._exit(0)
    os.close(writing)
    said: list[dict[str, Any]] = []
    with os.fdopen(reading) as pipe:
        for line in pipe:
            said.append(json.loads(line))
            SEEN.add(said[-1].get("key", ""))
            if kept is not None and sum("kept" in one for one in said) >= kept:
                os.kill(number, signal.SIGKILL)
                break
        pipe.read()
    os.waitpid(number, 0)
    return said


def main(folder: Path) -> dict[str, Any]:
    """For each study what every run said, and what the uninterrupted one did."""
    load_model("zoo:seed-0")  # the imports that the children would make, each for itself
    for module in (
        "core.maths.maps.kernel",
        "core.maths.structural.training",
        "pandas",
        "spacy",
    ):
        import_module(module)
    return {
        study: {
            "killed": [run(study, folder / study, 2) for _ in range(KILLS)],
            "ended": run(study, folder / study, None),
            "alone": run(study, folder / f"{study}-alone", None),
        }
        for study in STUDIES
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
