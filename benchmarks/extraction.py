"""Sentences per second of batches with a token budget, compared with single sentences.

`python -m benchmarks.extraction`. The baseline is plain transformers code: one sentence per call,
all layers, without the pooling into words that ours includes. Both run in turn on the same
sentences of mixed lengths; the ratio is of processor times, which depend least on other load.
bfloat16 is measured if the processor supports it, compared with the same loop in float32.
"""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.models import LoadedModel, load_model, locate
from core.vectors import forward

SENTENCES = 96
ROUNDS = 3
SHAPES: dict[str, dict[str, Any]] = {
    "BERT-base": {
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
    "included model": {
        **{"hidden_size": 128, "num_hidden_layers": 6},
        **{"num_attention_heads": 4, "intermediate_size": 512},
    },
}
BUDGETS = (64, 128, 256, 512, 1024, 2048)


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself (AVX-512 BF16 or AMX)."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def mixed_sentences(count: int) -> list[tuple[str, ...]]:
    """Sentences of nonsense words: lengths log-normal with a mean of about 20 words, as in running
    text."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(2.85, 0.5, count), 3, 80).astype(int)
    return [tuple(f"w{word}" for word in rng.integers(0, 5000, length)) for length in lengths]


def save_model(folder: Path, shape: dict[str, Any]) -> str:
    """A BERT of this shape with random weights and a tokenizer that gives about 1.2 subwords a
    word."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    whole, ends = [f"w{word}" for word in range(4000)], [f"##{end:03d}" for end in range(1000)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *whole, *ends]  # w4000 and above are two pieces
    vocabulary = {piece: place for place, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(vocabulary), **shape)).save_pretrained(folder)
    return f"path:{folder}"


def one_at_a_time(loaded: LoadedModel, sentences: list[tuple[str, ...]]) -> None:
    """Run one sentence per call, the obvious way."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(locate(loaded.info.ref))
    with torch.no_grad():
        for words in sentences:
            inputs = tokenizer(list(words), is_split_into_words=True, return_tensors="pt")
            output = loaded.model(input_ids=inputs["input_ids"], output_hidden_states=True)
            torch.stack(output.hidden_states).float().numpy()


def in_batches(loaded: LoadedModel, sentences: list[tuple[str, ...]]) -> None:
    """What core.vectors.activations does for sentences that are not stored: cut, batch, run,
    pool."""
    for _ in forward.read_sentences(loaded, forward.cut_sentences(loaded.tokenizer, sentences)):
        continue


def processor_seconds(work: Callable[[], None]) -> float:
    """Measure the processor time of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def compare(label: str, slow: Callable[[], None], fast: Callable[[], None], count: int) -> None:
    """A line: sentences a second of each, and the median ratio of turns taken one after the
    other."""
    for work in (slow, fast):
        work()  # once to warm up
    pairs = [(processor_seconds(slow), processor_seconds(fast)) for _ in range(ROUNDS)]
    ratios = sorted(one / other for one, other in pairs)
    rates = [count / min(times) for times in zip(*pairs, strict=True)]
    print(f"{label:<34}{rates[0]:>12.1f}{rates[1]:>12.1f}{statistics.median(ratios):>9.2f}x   "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f})")  # fmt: skip


def main() -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    given = mixed_sentences(SENTENCES)
    words = [len(sentence) for sentence in given]
    print(f"{processor()}, torch {torch.__version__}, one thread, {ROUNDS} rounds")
    print(
        f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores when it began: rates suffer from "
        f"it, ratios little"
    )
    print(
        f"{SENTENCES} sentences of {min(words)} to {max(words)} words, "
        f"{statistics.mean(words):.0f} on average\n"
    )
    print(f"{'sentences a second':<34}{'one by one':>12}{'batched':>12}{'ratio':>10}")
    with tempfile.TemporaryDirectory() as folder:
        refs = {name: save_model(Path(folder) / name, shape) for name, shape in SHAPES.items()}
        for name, ref in refs.items():
            measure(name, ref, given)
        if not has_bfloat16():
            print(
                "bfloat16: not measured, this processor does not compute in it (no AVX-512 BF16, "
                "no AMX)"
            )
        print(
            f"\n{'sentences a second by budget':<34}"
            + "".join(f"{budget:>8}" for budget in BUDGETS)
            + "  tokens"
        )
        for name, ref in refs.items():
            loaded = load_model(ref, device="cpu")
            label = f"{name}, float32 (chosen: {forward.token_budget('cpu', loaded.info.d_model)})"
            print(
                f"{label:<34}"
                + "".join(f"{by_budget(loaded, given, budget):>8.1f}" for budget in BUDGETS)
            )


def measure(name: str, ref: str, given: list[tuple[str, ...]]) -> None:
    """The lines of one shape."""
    loaded = load_model(ref, device="cpu")
    slow = partial(one_at_a_time, loaded, given)
    compare(f"{name}, float32", slow, partial(in_batches, loaded, given), len(given))
    if has_bfloat16():
        short = load_model(ref, device="cpu", dtype="bfloat16")
        compare(f"{name}, bfloat16", slow, partial(in_batches, short, given), len(given))


def processor() -> str:
    """Its name, where the system tells."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    return next(
        (line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine()
    )


def by_budget(loaded: LoadedModel, given: list[tuple[str, ...]], budget: int) -> float:
    """Sentences a second of processor time with this many tokens a batch."""
    usual = forward.token_budget
    forward.token_budget = lambda device, d_model: budget
    try:
        return len(given) / min(
            processor_seconds(lambda: in_batches(loaded, given)) for _ in range(2)
        )
    finally:
        forward.token_budget = usual


if __name__ == "__main__":
    main()
