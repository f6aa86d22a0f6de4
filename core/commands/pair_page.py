"""The report of a pair: sentences made from the numbers, a figure per study, caveats and commands.

The template is `pair.html`. The report is one file that loads nothing: figures are embedded as SVG
images.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.catalogue import STUDIES
from core.commands.pair import PARTS, WEIGHTS, Check, Part, further_commands
from core.models.weights.matrix_families import family_label
from core.results.drawing.files import words_of
from core.results.drawing.vega import Chart
from core.results.estimates import estimate_of
from core.results.export import Result, provenance
from core.results.names import short_names
from core.results.statements import lead_of
from core.results.templates import fill
from core.results.words import checked, read_toml

TEMPLATE = Path(__file__).with_name("pair.html")
SECTIONS = TEMPLATE.with_suffix(".toml")
WORDS: Mapping[str, Mapping[str, str]] = checked(
    Mapping[str, Mapping[str, str]], read_toml(SECTIONS), str(SECTIONS)
)
NOT_DRAWN = "A figure could not be drawn where this report was made; its numbers are in the tables."


def make_sentences(check: Check, parts: Sequence[Part]) -> list[str]:
    """Make the sentence of the check, then what each study that ran found, in the order of
    PARTS."""
    results = {part.name: part.result for part in parts if part.result is not None}
    return [check.sentence, *(_sentence(name, results[name]) for name in PARTS if name in results)]


def make_figures(parts: Sequence[Part]) -> dict[str, Chart]:
    """Draw the figures of the report, by file name."""
    from core.studies.weights.clusters.charts.ranks import change_chart

    charts: dict[str, Chart] = {}
    for part in parts:
        if part.result is None:
            continue
        if part.name == WEIGHTS:
            charts["size"] = change_chart(part.result, "relative_norm")
            charts["rank"] = change_chart(part.result, "rank")
            continue
        drawn = STUDIES[PARTS[part.name]].figures(part.result)
        if drawn:
            charts[part.name] = next(iter(drawn.values()))
    return charts


def make_page(
    check: Check,
    parts: Sequence[Part],
    charts: Mapping[str, Chart],
    figures: Mapping[str, bytes],
    command: str,
) -> bytes:
    """Make the report; the charts give the alternative texts of the figures, which are SVG."""
    cited = dict.fromkeys(
        paper for part in parts if part.result is not None for paper in part.result.citations
    )
    prints = {
        key: value
        for part in parts
        if part.result
        for key, value in part.result.provenance.get("fingerprints", {}).items()
    }
    record = json.dumps(
        provenance() | {"fingerprints": prints}, indent=2, ensure_ascii=False, default=str
    )
    names = short_names((check.base, check.model))
    return fill(
        TEMPLATE,
        base=names[check.base],
        model=names[check.model],
        lead=" ".join(make_sentences(check, parts)),
        sections=[_section(part, charts, figures) for part in parts],
        command=command,
        commands=[part.command for part in parts],
        further=further_commands(check),
        papers=cited,
        record=record,
    )


def _section(
    part: Part, charts: Mapping[str, Chart], figures: Mapping[str, bytes]
) -> dict[str, Any]:
    """Collect what the template needs of a study."""
    section: dict[str, Any] = {
        "title": WORDS[part.name]["title"],
        "result": part.result,
        "reason": part.reason,
    }
    if part.result is None:
        return section
    names = ("size", "rank") if part.name == WEIGHTS else (part.name,)
    notices = list(part.result.notices)
    if any(name in charts and name not in figures for name in names):
        notices.append(NOT_DRAWN)
    return section | {
        "caveat": WORDS[part.name]["caveat"],
        "figures": [
            (figures[name], words_of(charts[name].to_dict())) for name in names if name in figures
        ],
        "notices": [*notices, *part.result.left_out],
    }


def _sentence(name: str, result: Result) -> str:
    """Say what a study found as its page does; of weights, first how far they changed."""
    headline = STUDIES[PARTS[name]].views[0].sentence(result) or lead_of(result.headline)
    return f"{_sizes(result)} {headline}" if name == WEIGHTS else headline


def _sizes(result: Result) -> str:
    ranks = result.tables["ranks"]
    rows = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == result.spec["threshold"])]
    moved = rows[rows["relative_norm"] > 0]
    most = rows.loc[rows["relative_norm"].idxmax()]
    whole = estimate_of(result.table.iloc[0], "relative_delta")
    unchanged = ""
    if len(moved) < len(rows):
        unchanged = f"; {len(rows) - len(moved)} of {len(rows)} matrices are unchanged"
    return (
        f"The weights changed by {whole.text} of their norm, most in the "
        f"{family_label(str(most['family']))} matrix of layer {int(most['layer'])} "
        f"({estimate_of(most, 'relative_norm').text}){unchanged}."
    )
