"""The included parser: spaCy's tagger and transition parser over one small convolutional tok2vec.

Trained on a UD treebank in CoNLL-U (for the included parser: English EWT), one sentence a document
and on the treebank's own words, because that is how the app uses it. The configuration is what
`spacy init config --pipeline tagger,parser --optimize efficiency` writes, with averaged weights and
`min_action_freq` 10; the tagger learns XPOS. UPOS is taken from a table counted on the training
text (XPOS, label and word to the commonest UPOS). The step loop is ours so that an interrupted
training resumes: weights and step are saved at every evaluation, Adam's moments are not.

Reference: Honnibal, Goldberg & Johnson 2013, CoNLL; Nivre & Nilsson 2005 (pseudo-projective arcs,
for crossing trees).
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.errors import RecipeError
from core.text.conllu import Sentence
from zoo.recipe.treebank import read_treebank, upos_table

if TYPE_CHECKING:
    from spacy.language import Language

LAST, PROGRESS, SCORES, UPOS_TABLE = "model-last", "progress.json", "scores.json", "upos.json"


@dataclass(frozen=True)
class ParserTraining:
    """What the parser is trained with.

    `sentences` and `dev_sentences` cap what is read (0 for all); batches grow from 100 to
    `batch_words` words.
    """

    seed: int = 0
    steps: int = 5_000
    width: int = 96
    depth: int = 4
    rows: tuple[int, int, int, int] = (5000, 1000, 2500, 2500)
    batch_words: int = 1_000
    dropout: float = 0.1
    evaluate_every: int = 200
    sentences: int = 0
    dev_sentences: int = 0


QUICK = ParserTraining(
    steps=80,
    width=48,
    depth=2,
    rows=(500, 200, 500, 500),
    evaluate_every=40,
    sentences=300,
    dev_sentences=100,
)


def train_parser(
    train: str | Path,
    dev: str | Path,
    work: str | Path,
    output: str | Path,
    settings: ParserTraining | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Train the pipeline on CoNLL-U files with heads and XPOS and put its best state (by mean of
    dev UAS and LAS) into `output`; return what its `scores.json` holds, in percent without
    punctuation. A rerun resumes from `work`. Raises RecipeError."""
    settings = settings or ParserTraining()
    learn = read_treebank(train, settings.sentences)
    check = read_treebank(dev, settings.dev_sentences)
    work, output = Path(work), Path(output)
    try:
        work.mkdir(parents=True, exist_ok=True)
        best = _train(learn, check, work, settings, report)
        scores = {
            "settings": asdict(settings),
            "train_sentences": len(learn),
            "dev_sentences": len(check),
            **best,
        }
        if output.exists():
            shutil.rmtree(output)
        shutil.copytree(work / "model-best", output)
        _write_json(output / UPOS_TABLE, upos_table(learn))
        _write_json(output / SCORES, scores)
    except OSError as error:
        raise RecipeError(
            f"The parser could not be written: {error}. Free some space and run again; it resumes."
        ) from error
    return scores


def _config(settings: ParserTraining) -> dict[str, Any]:
    """Write spaCy's configuration of the pipeline; what is not named here is spaCy's default."""
    listener = {
        "@architectures": "spacy.Tok2VecListener.v1",
        "width": settings.width,
        "upstream": "*",
    }
    embed = {
        "@architectures": "spacy.MultiHashEmbed.v2",
        "width": settings.width,
        "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
        "rows": list(settings.rows),
        "include_static_vectors": False,
    }
    encode = {
        "@architectures": "spacy.MaxoutWindowEncoder.v2",
        "width": settings.width,
        "depth": settings.depth,
        "window_size": 1,
        "maxout_pieces": 3,
    }
    arcs = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 128,
        "maxout_pieces": 3,
        "use_upper": True,
        "tok2vec": listener,
    }
    tok2vec = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    return {
        "nlp": {"lang": "en", "pipeline": ["tok2vec", "tagger", "parser"]},
        "components": {
            "tok2vec": {"factory": "tok2vec", "model": tok2vec},
            "tagger": {
                "factory": "tagger",
                "label_smoothing": 0.05,
                "model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener},
            },
            "parser": {"factory": "parser", "min_action_freq": 10, "model": arcs},
        },
        "training": {
            "seed": settings.seed,
            "optimizer": {"@optimizers": "Adam.v1", "use_averages": True},
        },
    }


def _train(
    learn: Sequence[Sentence],
    check: Sequence[Sentence],
    work: Path,
    settings: ParserTraining,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Run the step loop; leave `model-best` in `work` and return its step and dev scores."""
    from spacy.util import fix_random_seed, load_model

    fix_random_seed(settings.seed)
    state = _progress(work, settings)
    nlp: Any = load_model(work / LAST) if state["step"] else _new_pipeline(learn, settings)
    optimizer = nlp.resume_training() if state["step"] else nlp.create_optimizer()
    began, done = time.monotonic(), int(state["step"])
    for step, batch in enumerate(_batches(learn, settings), start=1):
        if step <= done:
            continue
        if step > settings.steps:
            break
        losses = nlp.update(_examples(nlp, batch), sgd=optimizer, drop=settings.dropout)
        optimizer.step_schedules()
        if step % settings.evaluate_every and step != settings.steps:
            continue
        with nlp.use_params(optimizer.averages):
            scores = _evaluate(nlp, check)
            if scores["uas"] + scores["las"] > state["best"].get("uas", -1) + state["best"].get(
                "las", 0
            ):
                state["best"] = {"step": step, **scores}
                nlp.to_disk(work / "model-best")
        nlp.to_disk(work / LAST)
        state["step"] = step
        _write_json(work / PROGRESS, state)
        speed = (step - done) / (time.monotonic() - began)
        report(
            f"step {step} of {settings.steps}: "
            f"dev UAS {scores['uas']:.2f} LAS {scores['las']:.2f} tags "
            f"{scores['tag_accuracy']:.2f}, loss {losses['parser']:.0f}, {speed:.2f} steps a second"
        )
    return dict(state["best"])


def _progress(work: Path, settings: ParserTraining) -> dict[str, Any]:
    """Find where an earlier run stopped; step 0 for a new one."""
    path = work / PROGRESS
    fresh = {"settings": json.loads(json.dumps(asdict(settings))), "step": 0, "best": {}}
    if not path.is_file():
        return fresh
    state = json.loads(path.read_text(encoding="utf8"))
    former = {
        **state["settings"],
        "steps": settings.steps,
    }  # more steps of the same training are welcome
    if former != fresh["settings"]:
        raise RecipeError(
            f"{work} holds a parser trained with other settings. Remove the folder or name another."
        )
    return cast("dict[str, Any]", state)


def _new_pipeline(learn: Sequence[Sentence], settings: ParserTraining) -> Language:
    """Make an untrained pipeline, with its labels and shapes set from the training sentences."""
    from spacy.util import load_model_from_config

    nlp = load_model_from_config(_config(settings), auto_fill=True)
    nlp.initialize(lambda: _examples(nlp, learn))
    return nlp


def _batches(learn: Sequence[Sentence], settings: ParserTraining) -> Iterator[list[Sentence]]:
    """Yield batches without end, a function of the settings alone: shuffled each epoch, growing in
    words."""
    step, epoch = 0, 0
    while True:
        order = list(range(len(learn)))
        random.Random(f"{settings.seed}/{epoch}").shuffle(order)
        batch, words = [], 0
        for i in order:
            batch.append(learn[i])
            words += len(learn[i].words)
            if words >= min(settings.batch_words, 100 * 1.001**step):
                yield batch
                batch, words, step = [], 0, step + 1
        if batch:
            yield batch
            step += 1
        epoch += 1


def _examples(nlp: Language, sentences: Sequence[Sentence]) -> list[Any]:
    """Make spaCy's pairs of bare words and annotated words; one document per sentence, its one
    start given."""
    from spacy.tokens import Doc
    from spacy.training import Example

    examples = []
    for sentence in sentences:
        words = list(sentence.words)
        starts: list[bool | int | None] = [True, *[False] * (len(words) - 1)]
        heads = [i if head == 0 else head - 1 for i, head in enumerate(sentence.heads or ())]
        labels = ["ROOT" if label == "root" else label for label in sentence.deprel or ()]
        bare = Doc(nlp.vocab, words=words, sent_starts=starts)
        examples.append(
            Example(
                bare,
                Doc(
                    nlp.vocab, words=words, tags=list(sentence.xpos or ()), heads=heads, deps=labels
                ),
            )
        )
    return examples


def _evaluate(nlp: Language, check: Sequence[Sentence]) -> dict[str, float]:
    """Compute the dev scores in percent."""
    scores = nlp.evaluate(_examples(nlp, check))
    names = {"uas": "dep_uas", "las": "dep_las", "tag_accuracy": "tag_acc"}
    return {ours: round(100 * float(scores[theirs] or 0.0), 2) for ours, theirs in names.items()}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(
        json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf8"
    )


def main() -> int:
    """Run `python -m zoo.recipe.parser --train FILE --dev FILE --work FOLDER --output FOLDER
    [--steps N] [--quick]`."""
    parser = argparse.ArgumentParser(description="Train the included parser.")
    for name in ("train", "dev", "work", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--steps", type=int, default=ParserTraining.steps)
    parser.add_argument(
        "--quick", action="store_true", help="a few hundred steps on a few hundred sentences"
    )
    given = parser.parse_args()
    settings = QUICK if given.quick else ParserTraining(steps=given.steps)

    def say(line: str) -> None:
        print(line, flush=True)

    scores = train_parser(given.train, given.dev, given.work, given.output, settings, report=say)
    say(
        f"dev UAS {scores['uas']}, LAS {scores['las']}, tags {scores['tag_accuracy']}: "
        f"{given.output}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
