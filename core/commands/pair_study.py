"""The comparison of a pair as the home page runs it: like a study, with a result that holds the
report."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from core import COMMAND, options
from core.commands.pair import PARTS, Check, Part, check_pair, run_pair
from core.commands.pair_page import make_figures, make_page, make_sentences
from core.results.export import Result, draw_figures
from core.runs.runner import Progress


@dataclass(frozen=True)
class PairSpec(options.Spec):
    """A pair: a base model and its fine-tune."""

    base: str = options.model("Base model", "zoo:seed-0", help="The model before fine-tuning.")
    model: str = options.model(
        "Model",
        "zoo:parse-0",
        help="The model after fine-tuning, or a LoRA adapter.",
    )


@dataclass(frozen=True)
class PairResult(Result):
    """The result for a pair.

    Attributes:
        page: The report, one HTML file.
    """

    page: bytes = b""


def look_at(spec: PairSpec, **more: Any) -> Result:
    """Check the pair and price its report. Raises ModelError if a model cannot be read; SpecError
    if both are one."""
    check = check_pair(spec.base, spec.model, **more)
    return Result(
        "pair check", spec.plain(), check.sentence, _table([]), notices=(check.cost.sentence,)
    )


def run_pair_study(
    spec: PairSpec, *, progress: Callable[[Progress], None] | None = None, **more: Any
) -> PairResult:
    """Run every study that fits the pair, and make the report; `progress` receives that of all
    together. Raises ModelError if a model cannot be read, SpecError if both are one, or the price
    exceeds a limit."""
    check = check_pair(spec.base, spec.model, **more)
    check.cost.refuse_where_shared()
    done: list[str] = []

    def tell(part: Progress) -> None:
        if progress is not None:
            whole = (max(len(done) - 1, 0) + part.fraction) / len(PARTS)
            progress(
                replace(
                    part,
                    fraction=min(whole, 1.0),
                    remaining=None,
                    note=": ".join(filter(None, (done[-1], part.note))),
                )
            )

    parts = run_pair(check, done.append, progress=tell, **more)
    return _result(spec, check, parts)


def _result(spec: PairSpec, check: Check, parts: list[Part]) -> PairResult:
    command = shlex.join([*COMMAND.split(), "diff", spec.base, spec.model, "--out", "out"])
    charts = make_figures(parts)
    page = make_page(check, parts, charts, draw_figures(charts), command)
    headline = " ".join(make_sentences(check, parts))
    missing = tuple(
        f"{part.name} was not run: {part.reason}" for part in parts if part.result is None
    )
    return PairResult("diff", spec.plain(), headline, _table(parts), notices=missing, page=page)


def _table(parts: list[Part]) -> dict[str, Any]:
    rows = [(part.name, part.result is not None, part.command) for part in parts]
    return {"parts": pd.DataFrame(rows, columns=["part", "ran", "command"])}
