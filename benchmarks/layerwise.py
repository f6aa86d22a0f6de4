"""Peak memory and processor seconds of studies on a language model of a billion parameters, whose
layers are read from the disk one at a time.

    python -m benchmarks.layerwise --models /tmp/layerwise > benchmarks/layerwise.md

The pair has the shape of Llama-3.2-1B, in bfloat16 and in two files: random weights, and the same
with a little noise in the layers. It is written where it is missing (5 GB). Every study reads 60
sentences in a process of its own. The vectors of the whole model, with all its weights in memory,
are compared with those of the model that is read layer by layer.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.prices import used

SENTENCES = 60
VOCABULARY, WIDTH, INNER, LAYERS, HEADS, SHARED = 128_256, 2048, 8192, 16, 32, 8
NOISE = 0.02  # of the tuned model's weights, as a share of the base's standard deviation
# the option that names the tuned model beside the base, "" where both are in one list
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "rsa": ("compare", {"sentences": SENTENCES}),
    "weights": ("models", {}),
    "tokens": ("", {}),
    "divergence": ("compare", {"sentences": SENTENCES, "others": ()}),
    "probe behaviour": ("", {"kinds": ("agreement",), "pairs": 20, "probes": False}),
    "audit": ("", {}),
}
EXTRACTIONS = {
    "by layer": (2**31, "float32"),
    "whole": (2**60, "float32"),
    "by layer in bfloat16": (2**31, "bfloat16"),
}
"""Bytes up to which a model is read as a whole, and the type of its numbers."""


def write_pair(folder: Path) -> tuple[str, str]:
    """Write the two models where they are missing; return their references."""
    for name, noise in (("base", 0.0), ("tuned", NOISE)):
        if not (folder / name / "config.json").is_file():
            _write_model(folder / name, noise)
    return f"path:{folder / 'base'}", f"path:{folder / 'tuned'}"


def _write_model(folder: Path, noise: float) -> None:
    from transformers import LlamaConfig

    from core.models import zoo_folder

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names: dict[str, str] = {}
    half = LAYERS // 2
    for number, layers in enumerate((range(half), range(half, LAYERS)), 1):
        shard = f"model-{number:05d}-of-00002.safetensors"
        names |= dict.fromkeys(_write_shard(folder / shard, layers, noise), shard)
    index = {"metadata": {}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(zoo_folder() / "models" / "seed-0" / name, folder / name)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=SHARED,
        max_position_embeddings=131_072,
        rope_parameters={"rope_type": "default", "rope_theta": 500_000.0},
        tie_word_embeddings=True,
        dtype="bfloat16",
        architectures=["LlamaForCausalLM"],
    )
    config.save_pretrained(folder)


def _write_shard(path: Path, layers: range, noise: float) -> list[str]:
    """Write some layers, the embedding with the first and the norm with the last."""
    import torch
    from safetensors.torch import save_file

    keys = WIDTH // HEADS * SHARED
    shapes = {
        "self_attn.q_proj": (WIDTH, WIDTH),
        "self_attn.k_proj": (keys, WIDTH),
        "self_attn.v_proj": (keys, WIDTH),
        "self_attn.o_proj": (WIDTH, WIDTH),
        "mlp.gate_proj": (INNER, WIDTH),
        "mlp.up_proj": (INNER, WIDTH),
        "mlp.down_proj": (WIDTH, INNER),
    }
    base, more = (torch.Generator().manual_seed(100 * seed + layers.start) for seed in (1, 2))
    tensors: dict[str, torch.Tensor] = {}
    if layers.start == 0:
        drawn = torch.randn(VOCABULARY, WIDTH, generator=base)
        tensors["model.embed_tokens.weight"] = (0.02 * drawn).to(torch.bfloat16)
    for layer in layers:
        for name, shape in shapes.items():
            weight = torch.randn(shape, generator=base)
            if noise:
                weight += noise * torch.randn(shape, generator=more)
            tensors[f"model.layers.{layer}.{name}.weight"] = (0.02 * weight).to(torch.bfloat16)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{layer}.{name}.weight"] = torch.ones(WIDTH, dtype=torch.bfloat16)
    if layers.stop == LAYERS:
        tensors["model.norm.weight"] = torch.ones(WIDTH, dtype=torch.bfloat16)
    save_file(tensors, path, metadata={"format": "pt"})
    return list(tensors)


def run_study(command: str, base: str, tuned: str) -> dict[str, Any]:
    """Run one study in this process, from an empty store; return what it took."""
    from core.catalogue import STUDIES as CATALOGUE
    from core.runs.store import default_store

    name, values = STUDIES[command]
    study = CATALOGUE[command]
    said = {"base": base, name: (tuned,)} if name else {"models": (base, tuned)}
    spec = study.Spec(**values, **said)
    price = study.price(spec)
    result = study.run(spec, store=default_store().without_precomputed())
    failures = [*result.failures.values()]
    return {**used(), "predicted": [price.processor, price.memory], "failures": failures}


def extract_by(choice: str, ref: str, kept: Path) -> dict[str, Any]:
    """Compute the vectors of the text with a model read in one of two ways; keep them."""
    from core.models.loading import reading
    from core.text.corpora import read_corpus
    from core.vectors.activations import extract

    reading.READ_AS_ONE, dtype = EXTRACTIONS[choice]
    sentences = read_corpus("demo", SENTENCES).words
    np.save(kept / f"{choice}.npy", extract(ref, sentences, device="cpu", dtype=dtype).vectors)
    return used()


def difference(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Compare the top layer's vectors (word, d_model) of one model in two precisions.

    Returns:
        The difference's root mean square as a share of the states', and the correlation of all
        cosine similarities of words.
    """
    share = float(np.linalg.norm(first - second) / np.linalg.norm(first))
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (first, second)]
    pairs = np.triu_indices(len(first), 1)
    cosines = [(x @ x.T)[pairs] for x in units]
    return share, float(np.corrcoef(*cosines)[0, 1])


def measured(*what: str) -> dict[str, Any]:
    """Run one measurement in a process of its own, with an empty store."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-layerwise-") as store:
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "PALIMPSEST_STORE": store}
        call = [sys.executable, "-m", "benchmarks.layerwise", "--measure", *what]
        run = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout.splitlines()[-1]))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(tempfile.gettempdir()) / "palimpsest-layerwise"
    parser.add_argument("--models", type=Path, default=default)
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="some of the studies, with commas between them")
    arguments = parser.parse_args()
    if arguments.measure:
        what, *rest = arguments.measure
        took = extract_by(what, rest[0], Path(rest[1])) if what in EXTRACTIONS else None
        print(json.dumps(took or run_study(what, *rest)))
        return
    base, tuned = write_pair(arguments.models)
    studies = arguments.only.split(",") if arguments.only else [*STUDIES]
    print("| study | processor s | predicted s | peak GB | predicted GB |\n|---|---|---|---|---|")
    for command in studies:
        took = measured(command, base, tuned)
        if took["failures"]:
            raise SystemExit(f"{command}: {took['failures']}")
        seconds, memory = took["predicted"]
        row = f"{took['cpu']:.0f} | {seconds:.0f} | {took['hwm']:.2f} | {memory:.2f}"
        print(f"| {command} | {row} |", flush=True)
    if arguments.only:
        return
    print("\n| vectors of the base | processor s | peak GB |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for choice in EXTRACTIONS:
            took = measured(choice, base, folder)
            print(f"| {choice} | {took['cpu']:.0f} | {took['hwm']:.2f} |", flush=True)
        first, second, half = (np.load(Path(folder) / f"{choice}.npy") for choice in EXTRACTIONS)
        print(f"\nLargest difference of a number: {float(np.abs(first - second).max()):.1e}")
        share, similar = difference(first[-1], half[-1])
        print(f"bfloat16: states of the top layer differ by {share:.1%} (root mean square); cosine "
              f"similarities of words correlate at {similar:.5f} with float32's.")  # fmt: skip


if __name__ == "__main__":
    main()
