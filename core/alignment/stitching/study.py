"""Stitching: the lower layers of one model, a map, the upper layers and the head of another.

If two models compute the same thing up to a map, a task head should not notice the change of trains. The map at
layer l is fitted on subword states of unlabelled sentences; then each labelled sentence goes through the source up to
l, through the map, and on through the target from l to its head. A map that only remembers the mean target state of
each subword, and reads no source, stands beside the others.

References: Lenc & Vedaldi 2015; Bansal, Nakkiran & Barak 2021 (model stitching). Deviations: the map is fitted to
the target's states and never trained on the task's loss, so that it cannot learn the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from core.alignment.check.drawings import stitching_chart
from core.alignment.maps.linear import Aligner
from core.alignment.maps.registry import METHODS
from core.alignment.prices import stitching_price
from core.alignment.seeds.protocol import part_of, parts_from
from core.alignment.seeds.study import CITATIONS
from core.alignment.seeds.tasks import fit_each
from core.alignment.seeds.text import CAVEATS, FORMULAS
from core.alignment.stitching import PURPOSE
from core.alignment.stitching.spec import StitchSpec
from core.errors import ModelError, ShapeError
from core.models import load_tokenizer, load_with_head, tokenizer_fingerprint
from core.models.identity import as_identified, contents, identity_tasks
from core.results.drawing.context import PAGE, Context
from core.results.drawing.vega import Chart
from core.results.export import Result, provenance
from core.results.numbers import text_of
from core.results.papers.citing import cite
from core.runs.runner import Outputs, Task, span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.statistics import interval, sentence_counts
from core.study import Study
from core.text.corpora import Corpus
from core.text.labelled import Labelled, read_labelled
from core.text.reading import Text, text_task
from core.vectors.pairs import Words

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("source", "target", "layer", "method", "accuracy", "low", "high")


@pure("alignment.stitch", version=3, guard=as_identified)
def stitch_pair(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    labelled: Labelled,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Accuracy of every stitch of two models.

    Args:
        source, target: References of two models with a sequence-classification head for one task.
        source_identity, target_identity: For the key, see `models.identity`.
        sentences: Unlabelled sentences that the maps are fitted on.
        labelled: (text, label) pairs; labels as in the target's config.
        methods: Names in the registry.
        seed: Of the split and the networks.

    Returns:
        `m/correct` (layer, text) for each method, `m/refused` with a reason where one does not fit;
        `own_target` and `own_source` (text,); `rows` that the maps were fitted on.

    Raises:
        ModelError: If a model cannot be loaded, has no such head, or the tokenizers differ.
        ShapeError: If a label is unknown to the target.
    """
    from core.alignment.seeds.forward import predict_labels, stitched_labels, subword_rows

    if tokenizer_fingerprint(source) != tokenizer_fingerprint(target):
        raise ModelError(f"{source} and {target} cut words differently, so one cannot go on where the other stops.")
    tokenizer = load_tokenizer(target, source)
    lower, upper = (load_with_head(ref, device="cpu").model for ref in (source, target))
    names = _labels(target, upper.config)
    unknown = sorted({label for _, label in labelled} - set(names))
    if unknown:
        raise ShapeError(f"{target} does not know the label {unknown[0]!r}; it knows {', '.join(names)}.")
    with span(0.0, 0.2):
        tick(0.1, "reading the sentences that the maps are fitted on")
        x, owner, subwords = subword_rows(lower, tokenizer, sentences)
        y = subword_rows(upper, tokenizer, sentences)[0]
    if len(x) != len(y):
        raise ModelError(
            f"{source} has {len(x) - 1} layers and {target} {len(y) - 1}; stitching needs the same number."
        )
    where = np.array([part_of(words, seed) for words in sentences])[owner]
    parts = parts_from(where, subwords, owner)
    truth = np.array([names.index(label) for _, label in labelled])
    value: Value = {"rows": len(parts.train)}
    value["own_target"] = predict_labels(upper, tokenizer, [text for text, _ in labelled]) == truth
    value["own_source"] = predict_labels(lower, tokenizer, [text for text, _ in labelled]) == truth
    aligners: dict[str, Aligner] = dict(fit_each(methods, seed, x, y, parts, value, low=0.2, high=0.7))
    with span(0.7, 1.0):
        labels_by_method = stitched_labels(lower, upper, tokenizer, labelled, aligners)
    return value | {f"{name}/correct": labels == truth for name, labels in labels_by_method.items()}


def _labels(ref: str, config: Any) -> list[str]:
    """Names of the classes in order.

    Raises:
        ModelError: If the model has no sequence-classification head.
    """
    architecture = str((getattr(config, "architectures", None) or ["none"])[0])
    if not architecture.endswith("ForSequenceClassification"):
        raise ModelError(
            f"{ref} has no head that labels sentences ({architecture}); choose a sentiment model of the box."
        )
    return [str(config.id2label[number]) for number in range(config.num_labels)]


def prepare(spec: StitchSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read the text and the labelled sentences, ask what the models are."""
    labels = Task.of("read labelled sentences", read_labelled, role="labelled", fleeting=True, path=spec.labelled)
    return [text_task(spec.corpus, spec.genres, spec.sentences, texts), labels, *identity_tasks(spec.models)]


def plan(spec: StitchSpec, ready: Outputs) -> list[Task]:
    """One task for each ordered pair, and one for each model with itself; roles are (source, target).

    Raises:
        CorpusError: If the text or the labelled sentences could not be read.
    """
    content = contents(ready)
    refs = [ref for ref in spec.models if ref in content]
    return [
        Task.of(
            f"{source} → {target}",
            stitch_pair,
            role=(source, target),
            group=target,
            source=source,
            target=target,
            source_identity=content[source],
            target_identity=content[target],
            sentences=ready.need("text").words,
            labelled=ready.need("labelled"),
            methods=spec.methods,
            seed=spec.seed,
        )
        for source, target in [*((ref, ref) for ref in refs), *permutations(refs, 2)]
    ]


def collect(spec: StitchSpec, ready: Outputs, outputs: Outputs) -> Result:
    """The tables `stitching` (COLUMNS) and `own` (model, accuracy, low, high)."""
    import pandas as pd

    rows, notices = [], []
    unstitched: dict[str, dict[str, Any]] = {}
    for (source, target), value in outputs.values.items():
        counts = sentence_counts(len(value["own_target"]), spec.draws, np.random.default_rng(spec.seed))
        for ref, what in ((source, "own_source"), (target, "own_target")):
            unstitched[ref] = {"model": ref, **_accuracy(value[what][None], counts).iloc[0].to_dict()}
        for method in spec.methods:
            if f"{method}/refused" in value:
                notices.append(f"{source} to {target}: {value[f'{method}/refused']}")
            if f"{method}/correct" in value:
                accuracy = _accuracy(value[f"{method}/correct"], counts)
                rows.append(accuracy.assign(source=source, target=target, method=method, layer=range(len(accuracy))))
    table = pd.concat(rows, ignore_index=True)[list(COLUMNS)] if rows else pd.DataFrame(columns=list(COLUMNS))
    mine = pd.DataFrame(unstitched.values(), columns=["model", "accuracy", "low", "high"])
    corpus: Corpus = ready.values["text"]
    return Result(
        study="align stitch",
        spec=spec.plain(),
        headline=make_headline(table, mine),
        tables={"stitching": table, "own": mine},
        notices=tuple(dict.fromkeys([*corpus.notices, *notices])),
        failures=ready.sentences | outputs.sentences,
        provenance=provenance(tuple(unstitched), corpus),
        methods=(
            f"Maps between subword states were fitted on {len(corpus.sentences):,} unlabelled sentences of "
            f"{spec.corpus}, layer by layer; {len(ready.values['labelled']):,} labelled sentences then went "
            "through the source's layers up to l, the map at l, and the target's layers from l to its head. The "
            "lookup replaces each subword's state by the target's mean state of it. Bands are 95 % bootstrap "
            "intervals over labelled sentences."
            f" {spec.settings()}"
        ),
        citations=cite((*CITATIONS, "bansal2021")),
    )


def make_headline(table: pd.DataFrame, unstitched: pd.DataFrame) -> str:
    """Accuracy stitched at the middle layer by the best map, beside whole models, no map and the lookup."""
    across = table[table["source"] != table["target"]]
    if across.empty:
        return "No pair could be stitched; the reasons are below."
    middle = across[across["layer"] == int(across["layer"].max()) // 2].groupby("method")["accuracy"].mean()
    mapped = middle.drop([name for name in middle.index if METHODS[name].kind == "control"])
    home = float(unstitched["accuracy"].mean())
    if mapped.empty:
        return f"The models reach {text_of(home, 'per cent')} by themselves."
    text = (
        f"Stitched at the middle layer, models reach {text_of(mapped.max(), 'per cent')} accuracy with "
        f"{METHODS[mapped.idxmax()].label}; whole they reach {text_of(home, 'per cent')}"
    )
    if "identity" in middle:
        text += f", without a map {text_of(middle['identity'], 'per cent')}"
    if "lookup" in middle:
        text += f", by a table of means by subword {text_of(middle['lookup'], 'per cent')}"
        return f"{text}. The table reads no source: what it reaches is the subword's alone."
    return text + "."


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Accuracy of stitched models; none where no pair could be stitched."""
    across = result.table["source"] != result.table["target"]
    return {"stitching": stitching_chart(result, context=context)} if across.any() else {}


def _accuracy(correct: np.ndarray, counts: np.ndarray) -> pd.DataFrame:
    """accuracy, low, high of each row of `correct` (layer, text) under bootstrap counts (draw, text)."""
    import pandas as pd

    low, high = interval(counts @ correct.T.astype(np.float64) / correct.shape[1])
    return pd.DataFrame({"accuracy": correct.mean(1), "low": low, "high": high})


STUDY = Study(
    name="align stitch",
    title="Stitching",
    purpose=PURPOSE,
    Spec=StitchSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=stitching_price,
    caveats=CAVEATS,
    formulas=FORMULAS,
)
