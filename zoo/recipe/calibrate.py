"""Compare pretraining settings at equal numbers of tokens: train several in turn, evaluate each,
write one table.

Settings train at a constant learning rate, and the running average of their weights is evaluated:
any mark can be the last, and a later call with higher marks resumes the training. One folder holds
everything: encoded text, each setting's checkpoint and snapshots, its measurements
(`runs/NAME/step-N.json`), and `table.md`. Existing results are kept.

A judge takes a ModelRef and returns named numbers. A judge that is added later evaluates old
snapshots, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from core.errors import RecipeError
from zoo.recipe.checkpoints import finish_seed, read_model, write_json
from zoo.recipe.pretrain import Pretraining, evaluate, pretrain
from zoo.recipe.syntax import measure_gap
from zoo.recipe.text import encode_windows, read_paragraphs, split_held_out, text_digest

Report = Callable[[str], None]
Judge = Callable[[str], Mapping[str, Any]]

WIDE = Pretraining(
    seed=0,
    d_model=256,
    heads=4,
    feed_forward=1024,
    length=128,
    batch=16,
    learning_rate=1e-3,
    precision="bfloat16",
    schedule="constant",
)
SETTINGS = {
    "mask-256": WIDE,
    "replaced-256": replace(WIDE, objective="replaced"),
    "words-256": replace(WIDE, whole_words=True),
    "mask-192": replace(WIDE, d_model=192, heads=3, feed_forward=768),
    "replaced-192": replace(WIDE, d_model=192, heads=3, feed_forward=768, objective="replaced"),
    "mask-256-short": replace(WIDE, length=64, batch=32),
}
"""Settings by name. All see the same number of tokens per step."""

MARKS = (2.5, 5.0, 10.0, 25.0, 50.0, 100.0)  # million tokens, special tokens included
SAVE_EVERY = 50  # steps: a busy machine may take ten minutes for them
SCORED_LENGTH = 64  # tokens of a held-out window, whatever a setting was trained on
SCORED_EVERY = 4  # one held-out window in four is scored
COLUMNS = (
    "setting",
    "width",
    "objective",
    "window",
    "tokens (M)",
    "processor h",
    "held-out loss",
    "masked accuracy",
    "best layer",
    "UUAS",
    "static window",
    "gap",
    "95 % interval",
)


def calibrate(
    folder: Path,
    text: str,
    tokenizer: Path,
    names: Sequence[str] = tuple(SETTINGS),
    marks: Sequence[float] = MARKS,
    judges: Mapping[str, Judge] | None = None,
    report: Report = lambda line: None,
    settings: Mapping[str, Pretraining] = SETTINGS,
) -> list[dict[str, Any]]:
    """Train the named settings in turn to each mark (million tokens), evaluate each snapshot by its
    held-out loss and the judges, and return the rows of the table, earlier ones too; a second call
    resumes. Raises RecipeError if a setting, a mark or the folder is invalid."""
    unknown = [name for name in names if name not in settings]
    if unknown or not names or not marks or min(marks) <= 0:
        raise RecipeError(
            f"There is no setting {', '.join(unknown) or '(none given)'}, or no mark above 0; "
            f"the settings are {', '.join(settings)}, and marks are million tokens."
        )
    lengths = {settings[name].length for name in names} | {SCORED_LENGTH}
    encode_text(folder / "text", text, tokenizer, lengths)
    for mark in sorted(marks):
        for name in names:
            run = folder / "runs" / name
            steps = tuple(
                int(value * 1e6) // settings[name].tokens_per_step for value in sorted(marks)
            )
            step = int(mark * 1e6) // settings[name].tokens_per_step
            chosen = replace(settings[name], steps=step, keep_steps=steps)
            report(f"{name}: to {mark:g} million tokens")
            train_setting(folder, chosen, run, tokenizer, report)
            measure_snapshot(folder, name, chosen, tokenizer, judges or {}, report)
            write_table(folder)
    return read_rows(folder)


def syntax_judge(treebank: Path) -> Judge:
    """Make the judge that measures the best layer's UUAS minus the static window's."""
    return lambda ref: asdict(measure_gap(ref, treebank))


def encode_text(folder: Path, text: str, tokenizer: Path, lengths: set[int]) -> None:
    """Write windows of each length as `train-LENGTH.npy` and `held-LENGTH.npy`, unless they exist.
    Raises RecipeError if the folder is of another text or tokenizer, or cannot be written."""
    from core.models.zoo import file_digest
    from zoo.recipe.tokenizer import read_tokenizer

    paragraphs = read_paragraphs(text)
    note = {
        "digest": text_digest(paragraphs),
        "tokenizer": file_digest(tokenizer / "tokenizer.json"),
    }
    path = folder / "text.json"
    if path.is_file() and json.loads(path.read_text(encoding="utf8")) != note:
        raise RecipeError(
            f"{folder} was made with another text or tokenizer. "
            "Choose another folder for this calibration."
        )
    cutter = read_tokenizer(tokenizer / "tokenizer.json")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, side in zip(("train", "held"), split_held_out(paragraphs), strict=True):
            for length in lengths:
                target = folder / f"{part}-{length}.npy"
                if not target.is_file():
                    partial = target.with_suffix(".partial.npy")
                    np.save(partial, encode_windows(cutter, side, length))
                    partial.replace(target)
    except OSError as error:
        raise RecipeError(
            f"{folder} could not be written ({error}); free some space and run again."
        ) from error
    write_json(path, note)


def train_setting(
    folder: Path, settings: Pretraining, run: Path, tokenizer: Path, report: Report
) -> None:
    """Train one setting up to `settings.steps`, unless it has been trained that far."""
    windows = _windows(folder, "train", settings.length)
    continues = continuations(tokenizer, settings.vocabulary) if settings.whole_words else None
    pretrain(
        settings,
        windows,
        run,
        report=lambda line: report(f"{run.name}: {line}"),
        continues=continues,
        save_every=SAVE_EVERY,
    )


def continuations(tokenizer: Path, vocabulary: int) -> np.ndarray:
    """Tell which pieces continue a word: bool (vocabulary,)."""
    from zoo.recipe.tokenizer import read_tokenizer

    pieces = read_tokenizer(tokenizer / "tokenizer.json").get_vocab()
    mask = np.zeros(vocabulary, dtype=bool)
    mask[[place for piece, place in pieces.items() if piece.startswith("##")]] = True
    return mask


def measure_snapshot(
    folder: Path,
    name: str,
    settings: Pretraining,
    tokenizer: Path,
    judges: Mapping[str, Judge],
    report: Report,
) -> None:
    """Measure held-out loss and every judge's numbers of the snapshot at `settings.steps`; keep
    them as `step-N.json` beside it.

    A mark that was passed in an earlier call that did not ask for it has no snapshot and gets no
    row.
    """
    run = folder / "runs" / name
    snapshot, path = run / f"step-{settings.steps}.safetensors", run / f"step-{settings.steps}.json"
    if not snapshot.is_file():
        report(f"{name}: step {settings.steps} was passed without being kept")
        return
    row = json.loads(path.read_text(encoding="utf8")) if path.is_file() else {}
    if "held_out_loss" not in row:
        note, model = read_model(snapshot)
        held = _windows(folder, "held", SCORED_LENGTH)[::SCORED_EVERY]
        row = {
            "setting": name,
            "step": settings.steps,
            "tokens": settings.tokens,
            "settings": note["settings"],
        }
        row |= {"processor_seconds": note["processor_seconds"], **evaluate(model, held, settings)}
        write_json(path, row)
    model_folder = run / f"step-{settings.steps}"
    for judge, ask in judges.items():
        if judge not in row:
            if not (model_folder / "config.json").is_file():
                finish_seed(snapshot, tokenizer, model_folder)
            row[judge] = dict(ask(f"path:{model_folder}"))
            write_json(path, row)
            report(f"{name}, {settings.tokens / 1e6:.1f} million tokens: {judge} {row[judge]}")


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Read what was measured so far, by setting and step."""
    paths = folder.glob("runs/*/step-*.json")
    rows = [cast("dict[str, Any]", json.loads(path.read_text(encoding="utf8"))) for path in paths]
    return sorted(rows, key=lambda row: (row["setting"], row["step"]))


def write_table(folder: Path) -> None:
    """Write all rows as a Markdown table, `table.md`. Raises RecipeError if it cannot be
    written."""
    lines = [" | ".join(("", *COLUMNS, "")), "|".join(("", *["---"] * len(COLUMNS), ""))]
    lines += [" | ".join(("", *_cells(row), "")) for row in read_rows(folder)]
    path, partial = folder / "table.md", folder / "table.md.partial"
    try:
        partial.write_text("\n".join(line.strip() for line in lines) + "\n", encoding="utf8")
        partial.replace(path)
    except OSError as error:
        raise RecipeError(
            f"{path} could not be written ({error}); free some space and run again."
        ) from error


def _cells(row: Mapping[str, Any]) -> list[str]:
    trained, syntax = row["settings"], row.get("syntax")
    objective = trained["objective"] + (", whole words" if trained["whole_words"] else "")
    cells = [
        row["setting"],
        str(trained["d_model"]),
        objective,
        str(trained["length"]),
        f"{row['tokens'] / 1e6:.2f}",
    ]
    cells += [
        f"{row['processor_seconds'] / 3600:.2f}",
        f"{row['held_out_loss']:.3f}",
        f"{row['masked_accuracy']:.3f}",
    ]
    if syntax is None:
        return cells + [""] * 5
    best, window, gap = syntax["layers"][syntax["best"]], syntax["window"], syntax["gap"]
    interval = f"[{syntax['low']:+.1f}, {syntax['high']:+.1f}]"
    return [*cells, str(syntax["best"]), f"{best:.1f}", f"{window:.1f}", f"{gap:+.1f}", interval]


def _windows(folder: Path, part: str, length: int) -> np.ndarray:
    path = folder / "text" / f"{part}-{length}.npy"
    try:
        return cast(np.ndarray, np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise RecipeError(
            f"{path} cannot be read ({error}); delete it to encode the text again."
        ) from error
