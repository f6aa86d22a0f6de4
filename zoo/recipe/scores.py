"""Scores of fine-tuned models on the held-out part, and their majority baselines.

Shares in [0, 1]: accuracy of labels (sentences, or words for tags), UAS of arcs (all words,
punctuation included, each word its highest-scoring head), exact match and token F1 of spans. Texts
are scored by the loss of each next token, in nats.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from zoo.recipe.batches import IGNORED, Encoded, scoring_batches
from zoo.recipe.tasks import TaskData

METRICS = {
    **{"sequence": "accuracy", "words": "accuracy", "arcs": "UAS", "span": "F1"},
    "text": "held_out_loss",
}
LONGEST_ANSWER = 30  # subwords


def score_model(
    model: Any,
    task: TaskData,
    items: Sequence[Encoded],
    pad: int,
    batch: int = 64,
    device: str = "cpu",
) -> dict[str, float]:
    """Score `model` on encoded examples; the first score is the kind's metric in `METRICS`."""
    model.eval()
    if task.kind == "text":
        return _score_texts(model, items, pad, batch, device)
    hits, count, overlap = 0.0, 0, 0.0
    with torch.inference_mode():
        for chosen, tensors in scoring_batches(items, batch, pad):
            output = forward(
                model, task.kind, {name: value.to(device) for name, value in tensors.items()}
            )
            if task.kind == "span":
                for row, index in enumerate(chosen):
                    exact, f1 = _score_span(
                        output.start_logits[row], output.end_logits[row], items[index]
                    )
                    hits, overlap, count = hits + exact, overlap + f1, count + 1
                continue
            logits = output if task.kind == "arcs" else output.logits
            truth = tensors["heads" if task.kind == "arcs" else "labels"].to(device)
            hits += float(((logits.argmax(-1) == truth) & (truth != IGNORED)).sum())
            count += int((truth != IGNORED).sum())
    if task.kind == "span":
        return {"F1": overlap / max(1, count), "exact_match": hits / max(1, count)}
    if task.kind in ("words", "arcs"):  # a word that was cut off is a word that was missed
        count = sum(len(item.source.words) for item in items if item.source is not None)
    return {METRICS[task.kind]: hits / max(1, count)}


def _score_texts(
    model: Any, items: Sequence[Encoded], pad: int, batch: int, device: str
) -> dict[str, float]:
    losses, hits, count = 0.0, 0, 0
    with torch.inference_mode():
        for _, tensors in scoring_batches(items, batch, pad):
            moved = {name: value.to(device) for name, value in tensors.items()}
            logits = forward(model, "text", moved).logits[:, :-1].float().flatten(0, 1)
            truth = moved["labels"][:, 1:].flatten()
            losses += float(
                functional.cross_entropy(logits, truth, ignore_index=IGNORED, reduction="sum")
            )
            hits += int((logits.argmax(1) == truth).sum())
            count += int((truth != IGNORED).sum())
    count = max(1, count)
    return {"held_out_loss": losses / count, "next_token_accuracy": hits / count}


def forward(model: Any, kind: str, tensors: dict[str, Tensor]) -> Any:
    """Compute the model's output on a batch: arc scores, or transformers' output object."""
    inputs = {name: tensors[name] for name in ("input_ids", "attention_mask")}
    if kind == "arcs":
        return model(**inputs, word_starts=tensors["word_starts"])
    return model(**inputs)


def baseline_of(
    model: Any, task: TaskData, items: Sequence[Encoded], pad: int, device: str = "cpu"
) -> dict[str, Any]:
    """Score what needs no training: the majority's answer, or, on texts, the model as it is before
    training."""
    if task.kind != "text":
        return majority_baseline(task)
    scores = score_model(model, task, items, pad, device=device)
    return {"score": scores[METRICS[task.kind]], "answer": "base"}


def majority_baseline(task: TaskData) -> dict[str, Any]:
    """Score the most frequent answer of the training part on the test part (majority baseline).

    The commonest label; for arcs the commonest place of the head relative to the word (or the
    root); for spans the task's own guess, or else the empty answer.
    """
    if task.kind == "span" and task.guess is not None:
        pairs = [score_answer(task.guess(example), example.answers) for example in task.test]
        exact, f1 = (sum(scores) / len(pairs) for scores in zip(*pairs, strict=True))
        return {"score": f1, "exact_match": exact, "answer": "nearest name"}
    if task.kind == "span":
        empty = sum(not example.answers for example in task.test) / max(1, len(task.test))
        return {"score": empty, "answer": "no answer"}
    counts: dict[str, Counter[Any]] = {"train": Counter(), "test": Counter()}
    for part, examples in (("train", task.train), ("test", task.test)):
        for example in examples:
            if task.kind == "sequence":
                counts[part][example.label] += 1
            elif task.kind == "words":
                counts[part].update(example.labels)
            else:
                counts[part].update(
                    _relative(word, head) for word, head in enumerate(example.labels, start=1)
                )
    answer = counts["train"].most_common(1)[0][0]
    score = counts["test"][answer] / max(1, sum(counts["test"].values()))
    return {
        "score": score,
        "answer": task.label_names[answer] if task.label_names else f"head at {answer}",
    }


def _relative(word: int, head: int) -> str:
    return "the root" if head == 0 else f"{head - word:+d}"


def _score_span(start: Tensor, end: Tensor, item: Encoded) -> tuple[float, float]:
    """Compute (exact match, token F1) of the best span in the context against the best of the
    answers."""
    source, offsets = item.source, item.offsets or []
    text = ""
    inside = torch.tensor([pair is not None for pair in offsets])
    if source is not None and source.pair is not None and inside.any():
        pairs = start[: len(offsets), None].cpu() + end[None, : len(offsets)].cpu()
        size = torch.arange(len(offsets))
        length = size[None, :] - size[:, None]
        allowed = (length >= 0) & (length < LONGEST_ANSWER) & inside[:, None] & inside[None, :]
        best = int(pairs.masked_fill(~allowed, -torch.inf).argmax())
        first, last = divmod(best, len(offsets))
        if float(pairs[first, last]) > float(start[0] + end[0]):
            text = source.pair[offsets[first][0] : offsets[last][1]]  # type: ignore[index]
    return score_answer(text, source.answers if source is not None else ())


def score_answer(text: str, answers: Sequence[str]) -> tuple[float, float]:
    """Compute (exact match, token F1) of an answer against the best true one, "" if there is none
    (Rajpurkar et al. 2016)."""
    given, truths = _normal(text), [_normal(answer) for answer in answers or ("",)]
    return max(float(given == truth) for truth in truths), max(_f1(given, t) for t in truths)


def _normal(text: str) -> list[str]:
    """Normalise as SQuAD does: lower case, no punctuation, no articles."""
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def _f1(given: list[str], answer: list[str]) -> float:
    if not given or not answer:
        return float(given == answer)
    common = sum((Counter(given) & Counter(answer)).values())
    return 2 * common / (len(given) + len(answer))
