"""`python -m core weights`: the weight clustering page's study, headless; the same spec, the same numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.commands.running import add_run_arguments, run_and_write
from core.errors import SpecError
from core.weights.clustering import METHODS
from core.weights.maps import METHODS as DRAWINGS
from core.weights.members import LABELS, read_label_table
from core.weights.spec import OF, WeightsSpec
from core.weights.vectors import VECTORS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study's options; defaults are the page's."""
    default = WeightsSpec()
    parser.add_argument("--base", default=default.base, help="base model (default %(default)s)")
    parser.add_argument(
        "--models",
        nargs="+",
        default=list(default.models),
        metavar="MODEL",
        help="its fine-tunes: references, or patterns such as 'zoo:*-*' and 'path:/runs/*' (default %(default)s)",
    )
    parser.add_argument("--tree", type=int, default=0, metavar="N", help="add the first N fine-tunes on the hub")
    parser.add_argument("--vector", default=default.vector, choices=list(VECTORS), help="default %(default)s")
    parser.add_argument("--rank", type=int, default=default.rank, help="directions used (default %(default)s)")
    parser.add_argument("--families", nargs="+", default=[], metavar="FAMILY", help="keep these only: query ff1 ...")
    parser.add_argument("--label", default=default.label, choices=LABELS, help="default %(default)s")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="a table with a column `model` (for --label table)")
    parser.add_argument("--column", default="", help="the label column of that table (default: its first)")
    parser.add_argument("--neighbours", type=int, default=0, metavar="K", help="default: smallest group less one")
    parser.add_argument("--method", default=default.method, choices=METHODS, help="default %(default)s")
    parser.add_argument("--clusters", type=int, default=0, help="default: as many as labels")
    parser.add_argument("--map", default=default.drawing, choices=list(DRAWINGS), help="default %(default)s")
    parser.add_argument("--of", default=default.of, choices=OF, help="whose ranks (default %(default)s)")
    parser.add_argument("--threshold", type=float, default=default.threshold, help="energy share of a rank")
    parser.add_argument("--permutations", type=int, default=default.permutations, help="default %(default)s")
    parser.add_argument("--own-bases", action="store_true", help="keep models of another base, each with its own")
    parser.add_argument("--seed", type=int, default=default.seed, help="of permutations, sketches and maps")
    add_run_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the study, write it, print its headline; 1 if a task failed.

    Raises:
        PalimpsestError: As the study does; `core.commands.main` prints it.
    """
    spec = _read_spec(arguments)
    from core.weights.charts import figures
    from core.weights.study import collect, plan

    return run_and_write(plan(spec), lambda outputs: collect(spec, outputs), figures, arguments)


def _read_spec(arguments: argparse.Namespace) -> WeightsSpec:
    models = list(arguments.models)
    if arguments.tree:
        models = _add_tree(arguments.base, models, arguments.tree)
    labels = _read_labels(arguments.labels, arguments.column) if arguments.labels else ()
    return WeightsSpec(
        base=arguments.base,
        models=tuple(models),
        vector=arguments.vector,
        rank=arguments.rank,
        families=tuple(arguments.families),
        label="table" if labels else arguments.label,
        labels=labels,
        neighbours=arguments.neighbours,
        method=arguments.method,
        clusters=arguments.clusters,
        drawing=arguments.map,
        of=arguments.of,
        threshold=arguments.threshold,
        permutations=arguments.permutations,
        own_bases=arguments.own_bases,
        seed=arguments.seed,
    )


def _add_tree(base: str, models: list[str], count: int) -> list[str]:
    """The first fine-tunes of a hub base, in place of the box's where none was named."""
    from core.models import parse_ref
    from core.models.hub_listing import choose_listed, list_fine_tunes

    parsed = parse_ref(base)
    if parsed.kind != "hub":
        raise SpecError(f"--tree lists the fine-tunes of a hub model, and {base} is none; name a hub: base.")
    named = [model for model in models if model not in WeightsSpec().models]
    listed = choose_listed(list_fine_tunes(parsed.name, 100), first=count)
    return named + [model.ref for model in listed if model.ref not in named]


def _read_labels(path: Path, column: str) -> tuple[tuple[str, str], ...]:
    try:
        table = read_label_table(path.read_bytes())
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror}).") from error
    chosen = column or next(iter(table))
    if chosen not in table:
        raise SpecError(f"{path} has no column {chosen!r}; it has {', '.join(table)}.")
    return tuple(table[chosen].items())
