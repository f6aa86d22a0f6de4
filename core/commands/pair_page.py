"""The report of a pair: up to five sentences made from the numbers, a figure per study, caveats and
commands.

The template is `pair.html`. The report is one file that loads nothing: figures are embedded as SVG
images.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.catalogue import STUDIES
from core.commands.pair import INTRUDERS, PARTS, PROBES, SIMILARITY, SWAP, WEIGHTS, Check, Part
from core.models.weights.families import family_label
from core.results.drawing.files import words_of
from core.results.drawing.vega import Chart
from core.results.estimates import estimate_of
from core.results.export import Result, provenance
from core.results.names import short_name, short_names
from core.results.numbers import text_of
from core.results.templates import fill
from core.results.words import checked, read_toml
from core.studies.probes.trees.tables import CHAIN
from core.studies.weights.intruders.text import SIGNIFICANT

if TYPE_CHECKING:
    import pandas as pd

TEMPLATE = Path(__file__).with_name("pair.html")
SECTIONS = TEMPLATE.with_suffix(".toml")
WORDS: Mapping[str, Mapping[str, str]] = checked(
    Mapping[str, Mapping[str, str]], read_toml(SECTIONS), str(SECTIONS)
)
NO_SCORE = "No score: "  # one model has no neighbours
NOT_DRAWN = "A figure could not be drawn where this report was made; its numbers are in the tables."


def make_sentences(check: Check, parts: Sequence[Part]) -> list[str]:
    """Make the sentence of the check, then one for each study that ran."""
    results = {part.name: part.result for part in parts if part.result is not None}
    said: dict[str, Callable[[Result], str]] = {
        SIMILARITY: _similarity,
        WEIGHTS: _weights,
        INTRUDERS: _intruders,
        PROBES: _probes,
        SWAP: lambda result: _first(result.headline),
    }
    sentences = {name: said[name](results[name]) for name in said if name in results}
    if len(sentences) == len(said):  # at most five sentences: join the two about the weights
        both = sentences.pop(INTRUDERS)
        sentences[WEIGHTS] = f"{sentences[WEIGHTS].removesuffix('.')}; {both[0].lower()}{both[1:]}"
    return [check.sentence, *sentences.values()]


def make_figures(parts: Sequence[Part]) -> dict[str, Chart]:
    """Draw the figures of the report, by file name."""
    from core.studies.weights.clusters.charts.pairs import change_chart

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
    """Make the report.

    Args:
        check: Of the pair.
        parts: The studies, run or not.
        charts: By name, see `make_figures`; they give the alternative texts.
        figures: Their SVG, see `draw_figures`.
        command: The command that reproduces the report.
    """
    cited = dict.fromkeys(
        paper for part in parts if part.result is not None for paper in part.result.citations
    )
    prints = {
        key: value
        for part in parts
        if part.result
        for key, value in _fingerprints(part.result).items()
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
    notices = [text for text in part.result.notices if not text.startswith(NO_SCORE)]
    if any(name in charts and name not in figures for name in names):
        notices.append(NOT_DRAWN)
    return section | {
        "caveat": WORDS[part.name]["caveat"],
        "figures": [
            (figures[name], words_of(charts[name].to_dict())) for name in names if name in figures
        ],
        "notices": [*notices, *part.result.failures.values()],
    }


def _fingerprints(result: Result) -> dict[str, str]:
    prints = result.provenance.get("fingerprints", {})
    return {str(key): str(value) for key, value in prints.items()}


def _similarity(result: Result) -> str:
    rows = result.table.sort_values("layer")
    low, high = rows.loc[rows["similarity"].idxmin()], rows.loc[rows["similarity"].idxmax()]
    return (
        f"Their representations differ most at layer {int(low['layer'])} (similarity "
        f"{estimate_of(low, 'similarity').text}) "
        f"and least at layer {int(high['layer'])} ({estimate_of(high, 'similarity').value_text})."
    )


def _weights(result: Result) -> str:
    ranks = result.tables["ranks"]
    rows = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == result.spec["threshold"])]
    moved = rows[rows["relative_norm"] > 0]
    most, whole = (
        rows.loc[rows["relative_norm"].idxmax()],
        float(result.table["relative_delta"].iloc[0]),
    )
    unchanged = ""
    if len(moved) < len(rows):
        unchanged = f"; {len(rows) - len(moved)} of {len(rows)} matrices are unchanged"
    return (
        f"The weights changed by {text_of(whole, 'per cent')} of their norm, "
        f"most in the {family_label(str(most['family']))} matrix of layer {int(most['layer'])} "
        f"({text_of(most['relative_norm'], 'per cent')}){unchanged}. "
        f"The median update needs {text_of(moved['rank'].median(), 'whole')} directions for "
        f"{text_of(result.spec['threshold'], 'setting')} of its energy; "
        f"a random matrix of its shape needs {text_of(moved['null_rank'].median(), 'whole')}."
    )


def _intruders(result: Result) -> str:
    row = result.table[result.table["family"] == "all"].iloc[0]
    more = "significantly more" if row["p_value"] < SIGNIFICANT else "not significantly more"
    return (
        f"Of {int(row['looked'])} leading directions, {int(row['intruders'])} "
        f"{'is an intruder dimension' if row['intruders'] == 1 else 'are intruder dimensions'}, "
        f"{more} than after a random update of equal norm ({text_of(row['null_mean'], 'amount')} "
        f"on average, {text_of(row['p_value'], 'p')})."
    )


def _probes(result: Result) -> str:
    scores = result.tables.get("scores", result.table)
    rows = scores[(scores["metric"] == "uuas") & (scores["probe"] == "distance")]
    parts = [
        f"{estimate_of(best, 'value').text} at layer {int(best['layer'])} of {short_name(ref)}"
        for ref in result.spec["models"][:2]
        if (best := _best(rows[rows["model"] == ref])) is not None
    ]
    randoms = [ref for ref in dict.fromkeys(rows["model"]) if str(ref).startswith("random:")]
    control = _best(rows[rows["model"] == randoms[0]]) if randoms else None
    chain = rows.loc[rows["model"] == CHAIN, "value"]
    rivals = []
    if control is not None:
        rivals.append(f"an untrained model gives {estimate_of(control, 'value').value_text}")
    if len(chain):
        rivals.append(f"linking adjacent words gives {text_of(chain.iloc[0], 'points')} %")
    scores = " and ".join(parts)
    return f"Of the parse edges, a distance probe predicts {'; '.join([scores, *rivals])}."


def _best(rows: pd.DataFrame) -> pd.Series | None:
    """Find the best layer on the development sentences."""
    if rows.empty:
        return None
    return (
        rows.loc[rows["dev"].idxmax()]
        if rows["dev"].notna().any()
        else rows.loc[rows["value"].idxmax()]
    )


def _first(text: str) -> str:
    """Return the first sentence."""
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
