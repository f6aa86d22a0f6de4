"""Ranks, distances, p-values and memory of weight clustering: `OMP_NUM_THREADS=1 python -m
benchmarks.weights`

Times are processor times of one run, each pair measured in turn, because their ratios depend least
on other load. Memory is the peak of a separate process that runs the whole study on
BERT-base-shaped checkpoints.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from core.maths.spectra.neighbours import calc_neighbour_shares
from core.maths.spectra.registry import Features, calc_distances
from core.maths.spectra.spectra import energy_rank, entropy_rank, singular_values, stable_rank

WIDTH, INNER, LAYERS = 768, 3072, 12
SHAPES = {
    "attention.self.query": (WIDTH, WIDTH),
    "attention.self.key": (WIDTH, WIDTH),
    "attention.self.value": (WIDTH, WIDTH),
    "attention.output.dense": (WIDTH, WIDTH),
    "intermediate.dense": (INNER, WIDTH),
    "output.dense": (WIDTH, INNER),
}
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "num_hidden_layers": LAYERS,
    "hidden_size": WIDTH,
    "num_attention_heads": 12,
    "intermediate_size": INNER,
    "vocab_size": 30522,
}
MODELS, RANK = 200, 8
REPLICATES = 400
PEAK = """
import json, sys
from pathlib import Path
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
result = STUDY.run(WeightsSpec(base=sys.argv[1], models=(sys.argv[2],), permutations=1000))
assert not result.failures, result.failures
status = Path("/proc/self/status").read_text().splitlines()  # ru_maxrss counts the parent too
peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps([len(result.table), peak / 1024]))
"""


def processor_seconds(function: Callable[[], object]) -> float:
    """Processor time of one call."""
    began = time.process_time()
    function()
    return time.process_time() - began


def measure_ranks(layers: int) -> None:
    """Every rank of a model's matrices: eigenvalues of Gram matrices against singular value
    decompositions."""
    rng = np.random.default_rng(0)
    ways: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "Gram eigenvalues (ours)": singular_values,
        "singular values only": lambda m: np.linalg.svd(m.astype(np.float64), compute_uv=False),
        "full decomposition": lambda m: np.linalg.svd(m.astype(np.float64), full_matrices=False)[1],
    }
    seconds = dict.fromkeys(ways, 0.0)
    worst = dict.fromkeys(ways, 0.0)
    for _ in range(layers):
        for rows, columns in SHAPES.values():
            falling = np.linspace(1.0, 0.01, 64)[
                :, None
            ]  # a delta: some directions and a floor of noise
            signal = rng.normal(size=(rows, 64)) @ (falling * rng.normal(size=(64, columns)))
            matrix = (signal + rng.normal(size=(rows, columns))).astype(np.float32)
            found = {}
            for name, way in ways.items():
                began = time.process_time()
                found[name] = way(matrix)
                seconds[name] += time.process_time() - began
            exact = summarise(found["full decomposition"])
            for name, values in found.items():
                worst[name] = max(worst[name], float(np.max(np.abs(summarise(values) / exact - 1))))
    ours = seconds["Gram eigenvalues (ours)"]
    print(f"All ranks of one BERT-base-shaped model ({6 * layers} matrices, float64)")
    for name, spent in seconds.items():
        print(
            f"  {name:26s} {spent:8.2f} s  {spent / ours:6.1f} x   worst relative difference "
            f"{worst[name]:.0e}"
        )


def summarise(values: np.ndarray) -> np.ndarray:
    """Ranks at three thresholds, stable rank, entropy rank."""
    ranks = [float(energy_rank(values, threshold)) for threshold in (0.9, 0.95, 0.99)]
    return np.array([*ranks, float(stable_rank(values)), float(entropy_rank(values))])


def measure_distances(models: int) -> None:
    """Projector distances of many models at one place of the model: r x r products against d x d
    projectors."""
    rng = np.random.default_rng(1)
    bases = [np.linalg.qr(rng.normal(size=(WIDTH, RANK)))[0] for _ in range(models)]
    features = [
        Features(
            ("query",),
            (0,),
            ((WIDTH, WIDTH),),
            np.ones((1, WIDTH)),
            np.ones(1),
            np.ones(1),
            (u,),
            (u,),
            (np.ones(1),),
        )
        for u in bases
    ]
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        found["ours"] = calc_distances(features, "projector", RANK)

    def pair_by_pair() -> None:
        distances = np.zeros((models, models))
        projectors = [u @ u.T for u in bases]
        for one in range(models):
            for two in range(one):
                distances[one, two] = distances[two, one] = np.linalg.norm(
                    projectors[one] - projectors[two]
                )
        found["pairs"] = distances / np.sqrt(2 * RANK)

    def one_product() -> None:
        flat = np.stack([(u @ u.T).ravel() for u in bases])
        found["product"] = np.sqrt(np.maximum(1 - flat @ flat.T / RANK, 0))

    ways = {
        "r x r products (ours, both sides)": ours,
        "d x d projectors, pair by pair": pair_by_pair,
    }
    ways["d x d projectors, one product"] = one_product
    seconds = {name: processor_seconds(way) for name, way in ways.items()}
    seconds["r x r products (ours, both sides)"] /= 2  # it has done the left and the right side
    worst = max(float(np.abs(found["ours"] - found[name]).max()) for name in ("pairs", "product"))
    first = seconds["r x r products (ours, both sides)"]
    print(
        f"\nProjector distances of {models} models, d = {WIDTH}, r = {RANK}, one side of one matrix"
    )
    for name, spent in seconds.items():
        print(f"  {name.replace(', both sides', ''):34s} {spent:8.2f} s  {spent / first:6.0f} x")
    print(f"  largest difference {worst:.0e}")


def measure_level() -> None:
    """What the page says of labels that mean nothing: how often p is small, and how often the band
    holds the share."""
    print(
        f"\nLabels shuffled over random models, {REPLICATES} times, 2 neighbours (1 for pairs), "
        f"2,000 permutations"
    )
    print(
        "  groups   p <= .05   p <= .25   inside the 95 % band   median smallest p   too few to "
        "tell"
    )
    for groups, size in ((2, 2), (3, 2), (2, 3), (3, 3), (6, 3), (10, 4)):
        rng = np.random.default_rng(0)
        labels, k = [str(group) for group in range(groups) for _ in range(size)], min(2, size - 1)
        found = []
        for _ in range(REPLICATES):
            points = rng.normal(size=(len(labels), 5))
            distances = np.linalg.norm(points[:, None] - points[None], axis=2)
            shares = calc_neighbour_shares(distances, list(rng.permutation(labels)), k, 2_000, rng)
            inside = shares.low[-1] - 1e-9 <= shares.share[-1] <= shares.high[-1] + 1e-9
            found.append((shares.p_value[-1], inside, shares.smallest_p[-1]))
        p, inside, smallest = (np.array(column) for column in zip(*found, strict=True))
        numbers = f"{np.mean(p <= 0.05):10.3f} {np.mean(p <= 0.25):10.3f} {inside.mean():22.3f}"
        print(
            f"  {groups:2d} x {size:2d} {numbers} {np.median(smallest):19.4f} "
            f"{np.mean(smallest >= 0.05):17.2f}"
        )


def write_bert(folder: Path, variant: int, own: int, shared: Path) -> None:
    """A BERT-base-shaped checkpoint in shards, one a layer; all but the first are links to one of a
    few variants."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf8")
    index: dict[str, str] = {}
    for layer in range(LAYERS):
        shard = f"model-{layer:02d}.safetensors"
        source = shared / (f"{variant}-{own}-{shard}" if layer == 0 else f"{variant}-{shard}")
        names = [f"encoder.layer.{layer}.{name}.weight" for name in SHAPES]
        if not source.exists():
            base, change = (
                np.random.default_rng(layer),
                np.random.default_rng([variant, own if layer == 0 else 0, layer]),
            )
            tensors = {}
            for name, shape in zip(names, SHAPES.values(), strict=True):
                weight = base.normal(size=shape, scale=0.04)
                left, right = change.normal(size=(shape[0], 32)), change.normal(size=(32, shape[1]))
                moved = weight + (2e-4 * left @ right if variant else 0)
                tensors[name] = moved.astype(np.float16)
            save_file(tensors, source, metadata={"format": "pt"})
        os.link(source, folder / shard)
        index |= dict.fromkeys(names, shard)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": index}), encoding="utf8"
    )


def measure_memory(counts: list[int]) -> None:
    """Peak memory of the whole study, in processes of their own, for zoos of these sizes."""
    print(
        "\nThe study on BERT-base-shaped fine-tunes (85 M numbers each in 72 matrices, fp16), all "
        "vectors"
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "shared").mkdir()
        write_bert(folder / "base", 0, 0, folder / "shared")
        for number in range(max(counts)):
            write_bert(
                folder / "tuned" / f"task{number % 3}-{number}",
                1 + number % 3,
                number,
                folder / "shared",
            )
        for count in counts:
            pattern = folder / f"some-{count}"
            pattern.mkdir()
            for number in range(count):
                name = f"task{number % 3}-{number}"
                (pattern / name).symlink_to(folder / "tuned" / name)
            environment = os.environ | {"PALIMPSEST_STORE": str(folder / "store")}
            command = [sys.executable, "-c", PEAK, f"path:{folder / 'base'}", f"path:{pattern}/*"]
            began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            answer = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if answer.returncode:
                raise SystemExit(answer.stderr)
            spent = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime
            models, peak = json.loads(answer.stdout.splitlines()[-1])
            seconds = time.monotonic() - began
            print(
                f"  {models:3d} models: peak {peak:6.0f} MiB, {processor:6.0f} s of processor, "
                f"{seconds:6.0f} s"
            )


def measure_box(base: str) -> None:
    """Run the README's command on the included models, with an empty store."""
    with tempfile.TemporaryDirectory() as place:
        command = [
            sys.executable,
            "-m",
            "core",
            "weights",
            "--base",
            base,
            "--models",
            "zoo:*-*",
            "--rank",
            "8",
        ]
        for state in ("cold", "warm"):
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            environment = os.environ | {"PALIMPSEST_STORE": f"{place}/store"}
            answer = subprocess.run(
                [*command, "--out", f"{place}/out"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            spent = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime
            if answer.returncode:
                print(f"\nIncluded models: not measured ({answer.stderr.strip().splitlines()[-1]})")
                return
            wall = time.monotonic() - began
            if state == "cold":
                print(
                    f"\nIncluded models: python -m core weights --base {base} --models 'zoo:*-*' "
                    "--rank 8"
                )
                print(f"  {answer.stdout.splitlines()[0]}")
            print(f"  {state}: {processor:.1f} s of processor, {wall:.1f} s")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--layers", type=int, default=LAYERS, help="of the model whose ranks are measured"
    )
    parser.add_argument("--models", type=int, default=MODELS, help="for the distances")
    parser.add_argument(
        "--memory", type=int, nargs="*", default=[1, 24], help="sizes of the zoos for memory"
    )
    arguments = parser.parse_args()
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, {threads} threads, load "
        f"{os.getloadavg()[0]:.0f}\n"
    )
    measure_ranks(arguments.layers)
    measure_distances(arguments.models)
    measure_level()
    measure_box("zoo:seed-0")
    if arguments.memory:
        measure_memory(arguments.memory)


if __name__ == "__main__":
    main()
