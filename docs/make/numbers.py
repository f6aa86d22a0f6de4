"""Numbers of written pages that a precomputed result holds: which they are, and filling them in.

A page marks a number with a comment behind it, which no reader of the rendered page sees, and says
in a comment at its end where the number comes from:

    Layer 2 predicts 57.0 %<!--uuas seed-0 2--> of the edges.

    <!-- numbers of probe
    uuas: value of scores where metric == "uuas" and model == "zoo:{0}" and layer == {1}
    holds: (low > 0).all() of margins where rival == "linear chain"
    -->

`numbers of` is followed by a command without `python -m core`, by a benchmark's file (such as
`benchmarks/readers.md`, whose tables are `table_1`, `table_2`), or by `zoo/manifest.json`, whose
tables are `models` and `adapters`; or by two of these with `beside` between them, whose rows are
joined, the second's numbers named as `similarity_beside`. A line is a key, an expression over
the columns of a table, the table, and a condition on its rows; expressions and conditions are those
of `pandas.DataFrame.eval`, with what a mark has after the key in the place of {0}, {1}. The table
`statements` has the facts of the headline, `options` what was asked for. The number is written as
it stands there: with its decimals, its zero before the point, its interval. What `holds` must be
true, or the page is refused.

`python -m docs.make.numbers` writes today's numbers into README and the pages.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from core.catalogue import STUDIES
from core.commands.study import add_flag, spec_of
from core.errors import NotStoredError, PalimpsestError, SpecError
from core.options import options_of
from core.results.numbers import MINUS, text_of
from core.runs.precomputed import default_precomputed
from core.runs.store import Store, using
from core.runs.tasks import Signal
from docs.make.tables import tables_of

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import Study

ROOT = Path(__file__).resolve().parents[2]
HOLDS = "holds"
STATEMENTS, OPTIONS = "statements", "options"
BESIDE = " beside "
BENCHMARK = ".md"  # its table is read where a command could stand
MANIFEST = "zoo/manifest.json"
PATIENCE = 600.0  # seconds to wait for a store that another process holds
NUMBER = r"[−+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)"
UNIT = r"(?P<unit>\s(?:%|points?|nats|bits))?"
FIGURE = re.compile(
    rf"(?P<p>p [=<] )?(?P<value>{NUMBER}){UNIT}(?P<band>\s\[{NUMBER},\s{NUMBER}\])?"
    r"(?P<mark><!--(?P<key>[\w-]+)(?P<words>(?: [^\s>]+)*)-->)(?!`)"
)
MARK = re.compile(r"<!--[\w-]+(?: [^\s>]+)*-->(?!`)")  # in code it is an example
BLOCK = re.compile(r"^<!-- numbers of (?P<command>.+)\n(?P<lines>(?:.*\n)*?)-->\n?", re.MULTILINE)
LINE = re.compile(r"(?P<key>[\w-]+): (?P<number>.+?) of (?P<table>\w+)(?: where (?P<rows>.+))?")


@dataclass(frozen=True)
class Source:
    """Where a number comes from.

    Attributes:
        command: Of the study, as it is typed, without `python -m core`; or a benchmark's file.
        number: An expression over columns of the table.
        table: A table of the result, or `statements`.
        rows: A condition on its rows; empty for all.
    """

    command: str
    number: str
    table: str
    rows: str

    def about(self, *words: str) -> Source:
        """Put what a mark has after its key in the place of {0}, {1}."""
        number, rows = self.number.format(*words), self.rows.format(*words)
        return replace(self, number=number, rows=rows)

    def evaluate(self, column: str = "", end: str = "") -> float:
        """Evaluate the expression on the rows.

        Args:
            column, end: A column of the expression, and the column that is read in its place.

        Raises:
            SpecError: If the result has no such table or column, no such row, or rows that differ.
        """
        table = table_of(self.command, self.table)
        number = re.sub(rf"\b{column}\b", end, self.number) if column else self.number
        try:
            rows = table.query(self.rows, engine="python") if self.rows else table
            values = np.unique(np.atleast_1d(rows.eval(number, engine="python")).astype(float))
        except Exception as error:  # pandas raises many kinds, of names, types and grammar
            raise SpecError(f"{self} cannot be read, {type(error).__name__}: {error}.") from error
        if rows.empty or len(values) != 1 or not np.isfinite(values[0]):
            raise SpecError(
                f"{self} is not one number: it has {len(values)} values in {len(rows)} rows. Say "
                "which row, or what is made of them."
            )
        return float(values[0])

    def band(self) -> tuple[float, float]:
        """Evaluate the expression at both ends of the interval of its column, the lower one first.

        Raises:
            SpecError: If no column of the expression has an interval.
        """
        columns = set(table_of(self.command, self.table).columns)
        for column in re.findall(r"[a-z_]\w*", self.number):
            for low, high in ((f"{column}_low", f"{column}_high"), ("low", "high")):
                if column in columns and low in columns:
                    low_end, high_end = sorted(self.evaluate(column, end) for end in (low, high))
                    return low_end, high_end
        raise SpecError(f"{self} has no interval: write the number without one.")

    def __str__(self) -> str:
        where = f" where {self.rows}" if self.rows else ""
        return f"{self.number} of {self.table}{where}, of {self.command}"


def asked_by(command: str) -> tuple[Study, Any]:
    """Return the study and the spec of a command, which is typed without `python -m core`.

    Raises:
        SpecError: If there is no such command or option.
    """
    name = max((name for name in STUDIES if f"{command} ".startswith(f"{name} ")), default="")
    if not name:
        raise SpecError(f"There is no command {command!r}: name a study and its options.")
    study, parser = STUDIES[name], argparse.ArgumentParser(prog=name)
    for option in options_of(study.Spec):
        add_flag(parser, option)
    options, more = parser.parse_known_args(shlex.split(command.removeprefix(name)))
    if more:
        raise SpecError(f"{name} has no option {more[0]!r}: see `python -m core {name} --help`.")
    return study, spec_of(name, options)


@cache
def result_of(command: str) -> Result:
    """Read the precomputed result of a command.

    Raises:
        SpecError: As `asked_by` raises it.
        NotStoredError: If it is not precomputed whole.
    """
    study, spec = asked_by(command)
    with tempfile.TemporaryDirectory(prefix="palimpsest-docs-") as folder:
        store = Store(Path(folder), precomputed=default_precomputed())
        try:
            with using(store):
                result: Result = study.run(
                    spec, store=store, signal=Signal(look_only=True, patience=PATIENCE)
                )
        except NotStoredError as error:
            raise NotStoredError(
                f"The result of {command!r} is not precomputed: add it to `requests`, or run `make "
                "precomputed`."
            ) from error
    return result


def table_of(command: str, name: str) -> pd.DataFrame:
    """Return a table of a precomputed result, its statements or options as one, a table of a file,
    or those of two joined.

    Raises:
        SpecError: If there is no such table.
    """
    if BESIDE in command:
        first, second = (table_of(each, name) for each in command.split(BESIDE))
        keys = [column for column in first if not is_float_dtype(first[column])]
        return first.merge(second, on=keys, suffixes=("", "_beside"))
    if command.endswith(BENCHMARK):
        tables = tables_of(ROOT / command)
    elif command == MANIFEST:
        listed = json.loads((ROOT / MANIFEST).read_text(encoding="utf8"))
        tables = {kind: pd.json_normalize(listed[kind]) for kind in ("models", "adapters")}
    else:
        result = result_of(command)
        records = [statement.as_record() for statement in result.statements]
        facts = [{**record, **(record["estimate"] or {})} for record in records]
        tables = {**result.tables, STATEMENTS: pd.DataFrame(facts)}
        tables[OPTIONS] = pd.DataFrame([dict(result.spec)])
    if name not in tables:
        raise SpecError(f"{command} has no table {name}: choose one of {', '.join(tables)}.")
    return tables[name]


def sources_of(markdown: str) -> tuple[dict[str, Source], list[Source]]:
    """Read where a page's numbers come from.

    Returns:
        The sources by key, and the sources of what must hold.

    Raises:
        SpecError: If a line is not understood, or a key is there twice.
    """
    sources: dict[str, Source] = {}
    holding = []
    for block in BLOCK.finditer(markdown):
        for line in filter(None, map(str.strip, block["lines"].splitlines())):
            if not (match := LINE.fullmatch(line)):
                raise SpecError(f"{line!r} is not `key: number of table where rows`.")
            command, rows = block["command"].strip(), match["rows"] or ""
            source = Source(command, match["number"], match["table"], rows)
            if match["key"] == HOLDS:
                holding.append(source)
            elif match["key"] in sources:
                raise SpecError(f"{match['key']} is there twice: rename one.")
            else:
                sources[match["key"]] = source
    return sources, holding


def rewritten(markdown: str) -> str:
    """Write today's numbers in the place of a page's marked numbers.

    Raises:
        SpecError: If a mark has no number before it or no source, if a source is not used, or if
            what must hold does not.
        NotStoredError: If a result is not precomputed.
    """
    sources, holding = sources_of(markdown)
    figures = list(FIGURE.finditer(markdown))
    if bare := Counter(MARK.findall(markdown)) - Counter(figure["mark"] for figure in figures):
        raise SpecError(f"There is no number before {next(iter(bare))}: write one, such as 0.0.")
    if different := {figure["key"] for figure in figures} ^ set(sources):
        raise SpecError(
            f"These keys are not both at a number and in a list of sources: {sorted(different)}."
        )
    for source in holding:
        if not source.evaluate():
            raise SpecError(f"This no longer holds: {source}. Change the sentence.")

    def filled(figure: re.Match[str]) -> str:
        return written(figure, sources[figure["key"]].about(*figure["words"].split()))

    return FIGURE.sub(filled, markdown)


def written(figure: re.Match[str], source: Source) -> str:
    """Write a number as the figure there is written: its decimals, zero, unit and interval."""
    value = source.evaluate()
    if figure["p"]:
        return text_of(value, "p") + figure["mark"]
    zero = re.search(r"\b0\.|%|point", figure[0].removesuffix(figure["mark"])) is not None
    text = like(figure["value"], value, zero) + (figure["unit"] or "")
    if figure["band"]:
        ends = iter(source.band())
        text += re.sub(NUMBER, lambda end: like(end[0], next(ends), zero), figure["band"])
    return text + figure["mark"]


def like(sample: str, value: float, zero: bool) -> str:
    """Write a number with the decimals of a sample.

    Args:
        sample: Such as ".25" or "1,234".
        value: The number.
        zero: Whether a zero is written before the point.
    """
    text = f"{abs(value):,.{len(sample.partition('.')[2])}f}"
    plus = "+" if sample.startswith("+") else ""
    sign = "" if not re.search("[1-9]", text) else MINUS if value < 0 else plus
    return sign + (text if zero else re.sub(r"^0(?=\.)", "", text))


def with_numbers(markdown: str) -> str:
    """Fill in a page's numbers and leave out marks and sources, for the page that is built."""
    return MARK.sub("", BLOCK.sub("", rewritten(markdown)))


def pages() -> list[Path]:
    """List the pages whose numbers are filled in."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> int:
    """Write today's numbers into README and the pages, and print what changed; return 1 if a page
    cannot be filled in."""
    refused = 0
    for path in pages():
        place, old = path.relative_to(ROOT), path.read_text(encoding="utf8")
        try:
            new = rewritten(old)
        except PalimpsestError as error:
            print(f"{place}: {error}", file=sys.stderr)
            refused = 1
            continue
        lines = zip(old.splitlines(), new.splitlines(), strict=True)
        for number, (before, after) in enumerate(lines, start=1):
            if before != after:
                print(f"{place}:{number}: {before}\n  is now {after}")
        path.write_text(new, encoding="utf8")
    return refused


if __name__ == "__main__":
    sys.exit(main())
