"""Results of the real models for the shelf of the app: `python -m benchmarks.real.shelf`.

Each study below is run once and kept as a folder of results; the archive is written from all that
are there, and keeps what it has of those that are not asked for. MiniLM is read as the Hub would
give it, at the name that it has there: the file in the Python package has the content of that
repository's. Models that no hub has in this form are folders where `make real` puts them.

    python -m benchmarks.real.shelf --tuned FOLDER          # with the fine-tunes of MiniLM
    python -m benchmarks.real.shelf --only minilm-edges     # this one, then the archive
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.real.cases import BASE, NAME
from benchmarks.real.layout import as_on_the_hub
from benchmarks.real.packages import MINILM, RXNFP, SMOLLM, Package, cache_folder
from core.models.zoo import adapter_base
from core.results.shelf.archive import FILE, Shelf, Shelved, content_of, origin_of, write_shelf

BOX = Path(__file__).resolve().parents[2] / "zoo"
CHEMISTRY, SMOL = ("rxnfp-base", "rxnfp-ft", "rxnfp-10k"), "smollm2"
RSA, PROBE = "pages/rsa.py", "pages/probe_trees.py"
WEIGHTS, ALIGN = "pages/weight_clustering.py", "pages/seed_alignment.py"
OWN = ("rsa", "probe", "weights", "align")  # the main studies of the pages
TASKS, RUNS = ("parse", "sentiment", "nli"), (0, 1)
ADAPTERS = tuple(f"zoo:minilm-{task}-{run}" for task in TASKS for run in RUNS)
FULL = "zoo:minilm-parse-full"
SWAPPED = (ADAPTERS[0], ADAPTERS[2], FULL)
TEXTS: Mapping[str, Any] = {"references": False, "sentences": 100}


@dataclass(frozen=True)
class Kept:
    """A result for the shelf: its key, title, page and study, and options that are not usual."""

    name: str
    title: str
    page: str
    study: str
    values: Mapping[str, Any] = field(hash=False)


def kept(models: Path) -> Iterator[Kept]:
    """List the results.

    Args:
        models: Folder of the laid-out models.
    """
    base, ft, tuned, smol = (f"path:{models / name}" for name in (*CHEMISTRY, SMOL))
    six: dict[str, Any] = {"base": BASE, "models": ADAPTERS}
    yield Kept(
        "minilm-rsa", "MiniLM: which layers change?", RSA, "rsa",
        {"base": BASE, "compare": (*ADAPTERS, FULL), "pool_runs": False, **TEXTS},
    )  # fmt: skip
    yield Kept(
        "minilm-swap", "MiniLM: which layers matter?", RSA, "swap",
        {"base": BASE, "compare": SWAPPED, "frozen": False, "sentences": 60},
    )  # fmt: skip
    few = {"probes": ("distance",), "controls": 0, "untrained": False}
    yield Kept(
        "minilm-probe", "MiniLM: is syntax still in?", PROBE, "probe",
        {"models": (BASE, ADAPTERS[0], FULL), **few, "sentences": 800},
    )  # fmt: skip
    yield Kept(
        "minilm-edges", "MiniLM: labels of edges", PROBE, "probe edges",
        {"models": (BASE,), "controls": 1, "untrained": False, "sentences": 200},
    )  # fmt: skip
    yield Kept(
        "minilm-polar", "MiniLM: edges with direction", PROBE, "probe polar",
        {"models": (BASE,), "controls": 0, "untrained": False, "sentences": 400},
    )  # fmt: skip
    yield Kept("minilm-weights", "MiniLM: the task in the weights", WEIGHTS, "weights", six)
    yield Kept(
        "minilm-intruders", "MiniLM: do adapters intrude?", WEIGHTS, "weights intruders",
        {"base": BASE, "models": (*ADAPTERS[::2], FULL)},
    )  # fmt: skip
    yield Kept(
        "minilm-arithmetic", "MiniLM: sums of two adapters", WEIGHTS, "weights arithmetic",
        {"base": BASE, "models": ADAPTERS[:3:2], "sentences": 60},
    )  # fmt: skip
    yield Kept(
        "minilm-barrier", "MiniLM: two parsers averaged", ALIGN, "align barrier",
        {"base": BASE, "models": ADAPTERS[:2], "corpus": "demo-gold", "sentences": 60},
    )  # fmt: skip
    yield Kept(
        "rxnfp-weights", "Chemistry: how far weights move", WEIGHTS, "weights",
        {"base": base, "models": (ft, tuned)},
    )  # fmt: skip
    yield Kept(
        "rxnfp-lineage", "Chemistry: who comes from whom?", WEIGHTS, "weights lineage",
        {"models": (base, ft, tuned)},
    )  # fmt: skip
    untrained = {"others": (), "sentences": 20}
    both = (smol, f"random:{smol}")
    yield Kept(
        "smollm2-divergence", "SmolLM2: predictions", RSA, "divergence",
        {"base": smol, "compare": both[1:], **untrained, "words": 200},
    )  # fmt: skip
    yield Kept(
        "smollm2-lens", "SmolLM2: when does it decide?", RSA, "lens",
        {"base": smol, "models": both[1:], **untrained},
    )  # fmt: skip
    yield Kept(
        "smollm2-behaviour", "SmolLM2: who knows grammar?", PROBE, "probe behaviour",
        {"models": both, "kinds": ("agreement",), "pairs": 30, "sentences": 100},
    )  # fmt: skip


def source_of(ref: str) -> str:
    """Say where the weights of a model came from."""
    if ref == BASE:
        return f"{_of(MINILM)}, with the content of {NAME} on the Hub"
    if ref.startswith("zoo:"):
        return f"fine-tuned from {NAME} with the recipe of the included models"
    return _of(SMOLLM if Path(ref).name == SMOL else RXNFP)


def _of(package: Package) -> str:
    return f"the Python package {package.name} {package.version}"


def box_with(tuned: Path | None, folder: Path) -> Path:
    """Make a folder of the included models and of fine-tunes beside them, as links."""
    (folder / "models").mkdir(parents=True, exist_ok=True)
    beside = (path for path in BOX.iterdir() if path.name != "models")
    models = (*(BOX / "models").iterdir(), *(tuned.iterdir() if tuned else ()))
    links = {folder / path.name: path for path in beside}
    links |= {folder / "models" / path.name: path for path in models if path.is_dir()}
    for link, path in links.items():
        link.unlink(missing_ok=True)
        link.symlink_to(path.resolve())
    return folder


def main() -> int:
    """Run what is not kept yet, and write the archive of all that is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tuned", type=Path, help="folder of the fine-tunes of MiniLM")
    parser.add_argument("--only", nargs="*", default=[], help="run these results alone")
    parser.add_argument("--kept", type=Path, help="folder of finished results")
    parser.add_argument("--out", type=Path, default=BOX / "answers" / FILE)
    arguments = parser.parse_args()
    folder = cache_folder()
    os.environ |= as_on_the_hub(folder / "models/minilm", folder / "hub")
    os.environ["PALIMPSEST_ZOO"] = str(box_with(arguments.tuned, folder / "box"))
    results, broken = [], 0
    where, shelf = arguments.kept or folder / "shelf", Shelf(arguments.out)
    for each in kept(folder / "models"):
        try:
            results += _one(each, where / each.name, shelf, arguments.only)
        except Exception as error:
            print(f"{each.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            broken += 1
    write_shelf(arguments.out, results)
    print(
        f"{arguments.out} written, {len(results)} results, {arguments.out.stat().st_size:,} bytes."
    )
    return 1 if broken else 0


def _one(each: Kept, folder: Path, shelf: Shelf, only: list[str]) -> list[tuple[Shelved, Any]]:
    """Run a study unless it is kept; one that is neither kept nor asked for stays as it is on the
    shelf, if it is there."""
    from core.catalogue import STUDIES
    from core.results.export import write_result
    from core.results.reading import load
    from core.results.statements import lead_of
    from core.runs.store import default_store

    study = STUDIES[each.study]
    spec = study.Spec(**each.values)
    if (folder / "result.json").is_file():
        result = load(folder)
    elif only and each.name not in only:
        there = [entry for entry in shelf.entries if entry.name == each.name]
        return [(entry, shelf.open(entry, study.kind)) for entry in there]
    else:
        print(each.name, file=sys.stderr, flush=True)
        result = _by_content(study.run(spec, store=default_store().without_precomputed()))
        write_result(result, {}, folder)
        print(f"{each.name}: {result.cautioned()}", file=sys.stderr, flush=True)
    absent = (ref for ref in spec.refs if not (ref.startswith("random:") or adapter_base(ref)))
    sources = {ref: source_of(ref) for ref in absent}
    entry = Shelved(
        each.name, each.title, each.page, each.study, spec.plain(), sources,
        lead_of(result.headline), each.study not in OWN,
    )  # fmt: skip
    origin = origin_of(sources)
    notices = (origin, *(each for each in result.notices if each != origin))
    return [(entry, replace(result, notices=notices))]


def _by_content(result: Any) -> Any:
    """Know models of the Hub by the sha256 of their weights; the commit is that of `as_on_the_hub`,
    which nobody else has."""
    provenance = dict(result.provenance)
    prints: dict[str, str] = provenance.get("fingerprints", {})
    known = {
        ref: content_of(ref, fingerprint) or fingerprint for ref, fingerprint in prints.items()
    }
    return replace(result, provenance=provenance | {"fingerprints": known})


if __name__ == "__main__":
    sys.exit(main())
