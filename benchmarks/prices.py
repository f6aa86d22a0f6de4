"""Predicted and measured price of studies: processor seconds and peak memory, each in a fresh
process.

    python -m benchmarks.prices --models /tmp/models --kept /tmp/prices.jsonl > benchmarks/prices.md

There are three pairs of models: two included seeds (6 layers of 128), and models of random weights
with the included tokenizer, of 6 layers of 384 and of 12 layers of 768, which are created if they
are missing. Every study is small, so that the widest models take a few minutes; prices of larger
studies are extrapolated. Processor seconds include all threads, children and imports, so that other
load matters little; memory is the peak resident size (VmHWM) of all. Measurements are kept and not
repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.study import Study

SHAPES = {"6x128": (6, 128, 4), "6x384": (6, 384, 6), "12x768": (12, 768, 12)}
LINEAR = ("identity", "lookup", "procrustes", "ols", "ridge", "cca")
LIMIT = 600  # seconds of a study; one that takes longer has no row
WITHIN = 1.5
FEW = 20  # labelled sentences for models of the widest shape
Case = tuple[str, dict[str, Any]]


def cases(models: dict[str, str], wide: bool) -> Iterator[Case]:
    """Every study on models of one shape, smaller where they are wide."""
    a, b, tuned, other = models["a"], models["b"], models["tuned-0"], models["tuned-1"]
    heads = (models["cls-0"], models["cls-1"])

    def of(sentences: int) -> dict[str, Any]:
        return {"sentences": sentences} if wide else {}

    yield "rsa", {"base": a, "compare": (tuned,), **of(100)}
    yield "tokens", {"models": (a, tuned)}
    yield "training", {"end": a, "steps": (tuned,), "others": (), **of(100)}
    yield (
        "truth",
        {
            "base": a,
            "compare": (tuned, other),
            "planted": (tuned,),
            **of(20),
            **({"plants": 2} if wide else {}),
        },
    )
    few = {"labelled": str(few_labelled(Path(a.removeprefix("path:")).parent))} if wide else {}
    yield "swap", {"base": a, "compare": heads[:1], "frozen": False, **few}
    yield "divergence", {"base": a, "compare": (b,), "others": (), **of(20)}
    yield "lens", {"base": a, "models": (b,), "others": (), **of(20)}
    yield "bits", {"models": (a, b), **of(20)}
    yield "weights", {"base": a, "models": (tuned, other)}
    yield "weights intruders", {"base": a, "models": (tuned,)}
    yield "audit", {"models": (a, b), "end": a, "kind": "seeds"}
    yield "weights lineage", {"models": (a, tuned, other)}
    yield (
        "weights arithmetic",
        {
            "base": a,
            "models": heads if wide else (tuned, models["cls-0"]),
            "randoms": 2,
            "sentences": 20,
            **few,
        },
    )
    less: dict[str, Any] = {"seeds": 1, "controls": 1, "epochs": 5} if wide else {}
    yield "probe", {"models": (a,), "untrained": False, **of(200), **less}
    yield (
        "probe training",
        {"end": a, "steps": (tuned,), **of(200), **({"seeds": 1, "controls": 1} if wide else {})},
    )
    yield "probe edges", {"models": (a,), "untrained": False, **of(100)}
    yield "probe behaviour", {"models": (a,), "pairs": 20 if wide else 100, **of(60)}
    yield "probe removal", {"models": (a,), **of(60), **({"layers": (2,)} if wide else {})}
    yield "probe polar", {"models": (a,), "untrained": False, **of(200), **less}
    for methods in (LINEAR, ("kernel",), ("inn",), ("mlp",)):
        yield (
            "align",
            {"models": (a, b), "methods": methods, "layers": (3, 5), "grid": "", "sentences": 150},
        )
    yield "align check", {"model": a, "methods": LINEAR, **of(100)}
    yield "align attention", {"models": (a, b), "methods": ("identity", "ridge"), **of(60)}
    yield "align stitch", {"models": heads, "methods": ("identity", "ridge"), **of(60)}
    yield "align barrier", {"models": (a, b), "base": a, **of(30)}
    yield "align protocol", {"models": (a, b), "tuned": (), "steps": 10, "sentences": 150}


def models_of(shape: str, folder: Path) -> dict[str, str]:
    """References of a pair, two fine-tunes and two models with one task's head."""
    if shape == "6x128":
        names = (
            "seed-0",
            "seed-1",
            "parse-0",
            "sentiment-0",
            "sentiment-0",
            "sentiment-0-from-seed-1",
        )
        refs = [f"zoo:{name}" for name in names]
    else:
        refs = [
            f"path:{folder / shape / name}"
            for name in ("a", "b", "tuned-0", "tuned-1", "cls-0", "cls-1")
        ]
        if not (folder / shape).is_dir():
            make_models(folder / shape, *SHAPES[shape])
    return dict(zip(("a", "b", "tuned-0", "tuned-1", "cls-0", "cls-1"), refs, strict=True))


def few_labelled(folder: Path) -> Path:
    """Write the first of the included labelled sentences to a file, in place of all."""
    from core.text.labelled import read_labelled

    file = folder / "labelled.tsv"
    rows = read_labelled()[:FEW]
    file.write_text("".join(f"{label}\t{text}\n" for text, label in rows), encoding="utf-8")
    return file


def make_models(folder: Path, layers: int, width: int, heads: int) -> None:
    """Save models of random weights: two seeds, and what a little noise makes of them."""
    import torch
    from transformers import RoFormerConfig, RoFormerForMaskedLM, RoFormerForSequenceClassification

    names = {0: "negative", 1: "positive"}
    config = RoFormerConfig(
        vocab_size=5000,
        embedding_size=width,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=512,
        id2label=names,
        label2id={label: number for number, label in names.items()},
    )
    for seed, name in enumerate(("a", "b")):
        torch.manual_seed(seed)
        model = RoFormerForMaskedLM(config).eval()
        _save(model, folder / name)
        torch.manual_seed(10 + seed)
        headed = RoFormerForSequenceClassification(config).eval()
        headed.roformer.load_state_dict(model.roformer.state_dict())
        _save(_moved(headed), folder / f"cls-{seed}")
        if name == "a":
            for number in range(2):
                _save(_moved(model), folder / f"tuned-{number}")


def _moved(model: Any) -> Any:
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.add_(torch.randn_like(weight) * 0.002)
    return model


def _save(model: Any, folder: Path) -> None:
    from core.models import zoo_folder

    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(zoo_folder() / "models" / "seed-0" / name, folder / name)


def measure(command: str, values: dict[str, Any]) -> dict[str, Any]:
    """Run one study in this process, from an empty store: processor seconds and gigabytes at the
    peak."""
    from core.runs.store import default_store

    study, spec = _study(command, values)
    result = study.run(spec, store=default_store().without_precomputed())
    return {**used(), "failures": list(result.failures.values())}


def used() -> dict[str, float]:
    """Measure this process and its children: `cpu`, processor seconds, and `hwm`, gigabytes at the
    peaks of those that run.

    The peak is VmHWM where the system has it, because ru_maxrss begins with what the parent had.
    """
    import resource

    own, ended = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    seconds = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    place = Path("/proc")
    if not place.is_dir():
        return {"cpu": seconds, "hwm": own.ru_maxrss / 1e9}
    lists = (each.read_text() for each in place.glob("self/task/*/children"))
    children = [place / number for numbers in lists for number in numbers.split()]
    for child in children:  # which have not ended, so that nothing above has their seconds
        ticks = (child / "stat").read_text().rpartition(")")[2].split()[11:13]
        seconds += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    peaks = [
        int((each / "status").read_text().partition("VmHWM:")[2].split()[0])
        for each in (place / "self", *children)
    ]
    return {"cpu": seconds, "hwm": sum(peaks) * 1024 / 1e9}


def _study(command: str, values: dict[str, Any]) -> tuple[Study, Any]:
    from core.catalogue import STUDIES

    study = STUDIES[command]
    return study, study.Spec(
        **{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    )


def measured(case: Case, kept: Path) -> dict[str, Any] | None:
    """What a case took, in a process of its own; None where it took too long or failed."""
    name = json.dumps(case)
    for line in kept.read_text().splitlines() if kept.exists() else ():
        row = json.loads(line)
        if row["case"] == name:
            return dict(row)
    with tempfile.TemporaryDirectory(prefix="palimpsest-prices-") as store:
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "PALIMPSEST_STORE": store}
        call = [sys.executable, "-m", "benchmarks.prices", "--measure", name]
        try:
            run = subprocess.run(
                call, env=environment, capture_output=True, text=True, timeout=LIMIT, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            print(f"{case[0]}: {error}", file=sys.stderr)
            return None
    row = json.loads(run.stdout.splitlines()[-1]) | {"case": name}
    with kept.open("a") as file:
        file.write(json.dumps(row) + "\n")
    return dict(row)


def main() -> None:
    """Print a row for every study and shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--models", type=Path, default=Path(tempfile.gettempdir()) / "palimpsest-models"
    )
    parser.add_argument(
        "--kept", type=Path, default=Path(tempfile.gettempdir()) / "palimpsest-prices.jsonl"
    )
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*json.loads(arguments.measure))))
        return
    print(
        "| models | study | predicted s | measured s | ratio | predicted GB | measured GB | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for shape, (_, width, _) in SHAPES.items():
        for case in cases(models_of(shape, arguments.models), width > 384):
            row = measured(case, arguments.kept)
            if row is None or row["failures"]:
                continue
            study, spec = _study(*case)
            price = study.price(spec)
            what = f"{case[0]}, {case[1]['methods'][0]}" if case[0] == "align" else case[0]
            cells = [
                *_beside(price.processor, row["cpu"], "{:.1f}"),
                *_beside(price.memory, row["hwm"], "{:.2f}"),
            ]
            print(f"| {shape} | {what} | {' | '.join(cells)} |", flush=True)


def _beside(said: float, took: float, form: str) -> Iterator[str]:
    ratio = said / took
    write: Callable[[float], str] = form.format
    yield from (
        write(said),
        write(took),
        f"{ratio:.2f}" if 1 / WITHIN <= ratio <= WITHIN else f"**{ratio:.2f}**",
    )


if __name__ == "__main__":
    main()
