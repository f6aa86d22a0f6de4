"""Numbers of the app beside those of code that others published.

    python -m benchmarks.outside > benchmarks/outside.md
    python -m benchmarks.outside --keep tests/core/outside.json

The second writes the numbers that the tests compare with. What is not installed is left out, with a
sentence. All of it needs, in an environment of its own, `pip install mergekit peft minicons nnterp
"nnsight<0.7" concept-erasure matplotlib`, netrep from github.com/ahwillia/netrep and, as a clone on
PYTHONPATH, github.com/salzhu/model-tracing. The exit status is 1 if a difference exceeds its bound.
The latest table is committed as `benchmarks/outside.md`; it took about two processor minutes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.outside import arrays, language, merges
from benchmarks.outside.inputs import DECODER, MASKED, Numbers, sentences

KEPT = 6  # of an array's numbers in the tests' file, evenly spaced
UNPACKAGED = {"tracing": "model-tracing 9ff5378"}  # a commit
WITHIN, ORIGINAL = "within_word_l2r", "original"  # PLL_metric of minicons


@dataclass(frozen=True)
class Comparison:
    """One thing that both calculate. `ours` and `theirs` take whether the input is the tests'.

    Attributes:
        what: It is called here, and on what.
        package: The other code's.
        by: Which function of it.
        unit: Of the difference; empty where there is none.
        bound: Of the largest difference; None where the two differ by definition.
    """

    what: str
    package: str
    by: str
    unit: str
    bound: float | None
    ours: Callable[[bool], Numbers]
    theirs: Callable[[bool], Numbers]


def differ(ours: Numbers, theirs: Numbers) -> float:
    """The largest difference of a number; infinite where shapes differ."""
    if {name: each.shape for name, each in ours.items()} != {
        name: each.shape for name, each in theirs.items()
    }:
        return float("inf")
    return max(
        float(np.abs(each.astype(np.float64) - theirs[name]).max()) for name, each in ours.items()
    )


COMPARISONS = {
    "add": Comparison(
        "`convert --add`, all tensors of a Llama of 3 layers and two fine-tunes",
        "mergekit", "`task_arithmetic` of a merge on the disk", "", 1e-6,
        merges.our_sum, merges.merged_by_mergekit,
    ),
    "arithmetic": Comparison(
        "`weights arithmetic`, the same sum in memory",
        "mergekit", "the same", "", 1e-6, merges.sum_in_memory, merges.merged_by_mergekit,
    ),
    "adapter": Comparison(
        "`convert` of an rsLoRA adapter for that Llama, all tensors",
        "peft", "`merge_and_unload`", "", 1e-5, merges.our_adapter, merges.merged_by_peft,
    ),
    "causal": Comparison(
        "`probe behaviour`, log-likelihoods of sentences by `decoder-0`",
        "minicons", "`IncrementalLMScorer`, summed", "nats", 1e-3,
        partial(language.our_scores, DECODER),
        lambda small: language.minicons_scores(DECODER, sentences(small)),
    ),
    "masked": Comparison(
        "`probe behaviour`, pseudo-log-likelihoods of sentences by `seed-0`",
        "minicons", '`MaskedLMScorer`, `PLL_metric="within_word_l2r"`, summed', "nats", 1e-3,
        partial(language.our_scores, MASKED),
        lambda small: language.minicons_scores(MASKED, sentences(small), PLL_metric=WITHIN),
    ),
    "unmasked": Comparison(
        "the same",
        "minicons", '`PLL_metric="original"`: the rest of a word is seen', "nats", None,
        partial(language.our_scores, MASKED),
        lambda small: language.minicons_scores(MASKED, sentences(small), PLL_metric=ORIGINAL),
    ),
    "causal_bits": Comparison(
        "`bits`, losses of sentences without their first words by `decoder-0`",
        "minicons", "`IncrementalLMScorer`, summed over the same subwords", "nats", 1e-3,
        lambda small: language.our_bits(DECODER, sentences(small)),
        lambda small: language.minicons_scores(DECODER, sentences(small), 1),
    ),
    "short_bits": Comparison(
        "`bits`, the same of beginnings of up to seven subwords by `seed-0`",
        "minicons", '`PLL_metric="original"`, summed over the same subwords', "nats", 1e-3,
        lambda small: language.our_bits(MASKED, language.short_sentences(small)),
        lambda small: language.minicons_scores(
            MASKED, language.short_sentences(small), 1, PLL_metric=ORIGINAL
        ),
    ),
    "masked_bits": Comparison(
        "the same of whole sentences, one in seven subwords masked at a time",
        "minicons", "the same, each masked alone", "nats", None,
        lambda small: language.our_bits(MASKED, sentences(small)),
        lambda small: language.minicons_scores(MASKED, sentences(small), 1, PLL_metric=ORIGINAL),
    ),
    "lens": Comparison(
        "`lens`, KL of each layer and subword, `decoder-0`",
        "nnterp", "`project_on_vocab` of each layer's output", "bits", 1e-3,
        lambda small: language.our_lens(DECODER, sentences(small)),
        lambda small: language.nnterp_lens(DECODER, sentences(small)),
    ),
    "tiny_lens": Comparison(
        "the same, the Llama of 3 layers",
        "nnterp", "the same", "bits", 1e-5,
        lambda small: language.our_lens(language.tiny(), language.tiny_words()),
        lambda small: language.nnterp_lens(language.tiny(), language.tiny_words()),
    ),
    "angles": Comparison(
        "`spaces`, angles of random spaces, and of layers of `seed-0` with those of three models",
        "netrep", '`LinearMetric(alpha=1, score_method="angular")`', "degrees", 1e-4,
        arrays.our_angles, arrays.netrep_angles,
    ),
    "erasure": Comparison(
        "`probe removal`, erased vectors: random ones, and each layer of `seed-0`",
        "concept-erasure", "`LeaceEraser`, without shrinkage and limit of the trace", "", 1e-6,
        arrays.our_erasure, arrays.leace_erasure,
    ),
    "independence": Comparison(
        "`weights lineage`, logarithms of two-sided p-values, rows centred: random units, "
        "and three decoders",
        "tracing", "`csw_sp_layer`", "", 1e-6, arrays.our_independence, arrays.tracing_independence,
    ),
}  # fmt: skip


def version_of(package: str) -> str:
    """Raises ImportError if it is not installed."""
    if package not in UNPACKAGED:
        return f"{package} {version(package)}"
    importlib.import_module(package)
    return UNPACKAGED[package]


def table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| here | whose code | by | largest difference | bound |"
    yield "|---|---|---|---|---|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def compare(comparisons: Mapping[str, Comparison]) -> tuple[list[list[str]], list[str], list[str]]:
    """Compare what is installed.

    Returns:
        Rows of the table; sentences on what is left out; names of what differs by too much.
    """
    rows, left_out, wrong = [], [], []
    for name, each in comparisons.items():
        try:
            whose = version_of(each.package)
        except ImportError:
            left_out.append(f"{each.package} is not installed, so {name} is not compared.")
            continue
        found = differ(each.ours(False), each.theirs(False))
        bound = "differs by definition" if each.bound is None else f"{each.bound:.0e}"
        rows.append([each.what, whose, each.by, f"{found:.1e} {each.unit}".strip(), bound])
        if each.bound is not None and not found <= each.bound:
            wrong.append(name)
    return rows, left_out, wrong


def brief(numbers: Numbers) -> dict[str, list[float]]:
    """Some numbers of each array, evenly spaced."""
    return {
        name: each.ravel()[np.linspace(0, each.size - 1, min(each.size, KEPT)).astype(int)].tolist()
        for name, each in numbers.items()
    }


def keep(path: Path) -> None:
    """Write what the other code gives on the tests' input."""
    kept = {
        name: {"from": version_of(each.package), "numbers": brief(each.theirs(True))}
        for name, each in COMPARISONS.items()
        if each.bound is not None
    }
    path.write_text(json.dumps(kept, indent=1) + "\n")


def main(given: Sequence[str] | None = None) -> int:
    """Print the table, or keep the tests' numbers; return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[*COMPARISONS, []], metavar="NAME")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args(given)
    if arguments.keep:
        with redirect_stdout(sys.stderr):
            keep(arguments.keep)
        return 0
    with redirect_stdout(sys.stderr):  # the other code prints
        rows, left_out, wrong = compare(
            {name: COMPARISONS[name] for name in arguments.names or COMPARISONS}
        )
    print("# Comparisons with outside code\n\n`python -m benchmarks.outside`\n")
    print("\n".join([*table(rows), *(f"\n{sentence}" for sentence in left_out)]))
    if wrong:
        print(f"Larger than its bound: {', '.join(wrong)}.", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.exit(main())
