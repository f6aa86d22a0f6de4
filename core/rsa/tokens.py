"""Token map: the words of one passage through the layers, in two dimensions, the models beside each other.

All vectors (models, layers, words) share one pair of axes: each layer of each model is centred and scaled to unit
root mean square, and one PCA is fitted to all of them. Axes that are the same everywhere let the eye follow a word
from layer to layer and from model to model.

Reference:
    van Aken et al. 2019, CIKM, How Does BERT Answer Questions? (token maps by layer, PCA).
Deviations: one PCA for all layers and models and not one a layer; words and not subwords; centring and scaling by
layer, without which the first axis only tells layers apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core import options
from core.errors import CorpusError, ShapeError, SpecError
from core.models.identity import identities, identity_tasks
from core.options import Spec
from core.results.export import Result, provenance
from core.results.names import short_names
from core.rsa.preparing import centred
from core.runs.runner import Outputs, Task, run_stages
from core.runs.store import Value
from core.runs.tasks import pure

if TYPE_CHECKING:
    import pandas as pd

MOST_WORDS = 200
LEAST_WORDS = 3
PASSAGE = (
    "Where did the captain hide the letter? The captain read the letter twice, folded it and hid it under a loose "
    "board in the kitchen, because the soldiers were already at the gate."
)
HIGHLIGHT = ("where", "hide", "hid", "letter", "kitchen")
CITATION = (
    "van Aken, Winter, Löser & Gers 2019. How Does BERT Answer Questions? A Layer-Wise Analysis of Transformer "
    "Representations. CIKM."
)


@dataclass(frozen=True)
class TokenMapSpec(Spec):
    """A passage and the models to draw it in; all with the same d_model."""

    models: tuple[str, ...] = options.models("Models", ("zoo:seed-0",), most=60, help="The base first.")
    passage: str = options.passage("Sentence or short passage", PASSAGE, help="Read by the models as one sequence.")
    highlight: tuple[str, ...] = options.words("Words to highlight", HIGHLIGHT, help="Upper and lower case alike.")

    def check(self) -> None:
        if not self.passage.strip():
            raise SpecError("Write a sentence for the token map.")


@dataclass(frozen=True)
class Projection:
    """Joint PCA: `points` (model, layer, word, 2); `explained` (2,), shares of the variance of all vectors."""

    points: NDArray[np.float64]
    explained: NDArray[np.float64]


def project(vectors: NDArray[np.floating]) -> Projection:
    """Two axes for all layers and models.

    Args:
        vectors: Shape (model, layer, word, d_model).

    Raises:
        ShapeError: If the array has another number of dimensions, or fewer than 3 words.
    """
    if vectors.ndim != 4 or vectors.shape[2] < LEAST_WORDS:
        raise ShapeError(
            f"A token map needs vectors (model, layer, word, d_model) of {LEAST_WORDS} words or more, got "
            f"{vectors.shape}."
        )
    models, layers, words, width = vectors.shape
    stacked = np.empty((models * layers, words, width))
    for number, layer in enumerate(vectors.reshape(models * layers, words, width)):
        points = centred(layer)
        size = np.sqrt(np.mean(np.sum(points**2, axis=1)))
        stacked[number] = points / size if size > 0 else points
    flat = stacked.reshape(-1, width)
    variances, axes = np.linalg.eigh(flat.T @ flat)
    first = axes[:, ::-1][:, :2]
    # An axis's sign is arbitrary: make the largest loading positive, so that the picture is the same on every machine.
    first = first * np.sign(first[np.abs(first).argmax(axis=0), [0, 1]])
    shares = variances[::-1][:2] / max(float(variances.sum()), np.finfo(np.float64).tiny)
    return Projection((flat @ first).reshape(models, layers, words, 2), shares)


@pure("rsa.tokens")
def word_vectors(model: str, model_identity: str, words: tuple[str, ...]) -> Value:
    """Vectors of a passage's words in one model: `vectors` (layer, word, d_model) float32.

    Args:
        model: Reference.
        model_identity: Fingerprints of weights and tokenizer; part of the key.
        words: The passage, as one sequence.

    Raises:
        ModelError: If the model cannot be loaded.
        CorpusError: If the passage is longer than the model reads.
    """
    from core.vectors.activations import extract

    found = extract(model, [words], items="words")
    if found.vectors.shape[1] < len(words):
        raise CorpusError(f"The passage is too long for {model}: {' '.join(found.notices)} Use a shorter one.")
    return {"vectors": found.vectors}


@pure("rsa.passage")
def read_passage(passage: str) -> tuple[str, ...]:
    """The passage's words, as one sequence.

    Raises:
        CorpusError: If there are too few or too many.
    """
    from core.text.parsing import tokenize_lines

    lines = [line for line in passage.splitlines() if line.strip()]
    words = tuple(word for sentences in tokenize_lines(lines, split=False) for words in sentences for word in words)
    if not LEAST_WORDS <= len(words) <= MOST_WORDS:
        raise CorpusError(f"A token map draws {LEAST_WORDS} to {MOST_WORDS} words, and the passage has {len(words)}.")
    return words


def prepare(spec: TokenMapSpec) -> list[Task]:
    """The first stage: cut the passage into words, ask what the models are."""
    passage = Task.of("passage", read_passage, fleeting=True, passage=spec.passage)
    return [passage, *identity_tasks(spec.models)]


def plan(spec: TokenMapSpec, ready: Outputs) -> list[Task]:
    """One task for each model that could be found.

    Raises:
        CorpusError: If the passage has too few or too many words.
    """
    words = ready.need("passage")
    return [
        Task.of(ref, word_vectors, group=ref, model=ref, model_identity=known.content, words=words)
        for ref, known in identities(ready).items()
    ]


def collect(spec: TokenMapSpec, ready: Outputs, outputs: Outputs) -> Result:
    """Project and tabulate.

    Returns:
        A result with the tables `tokens` (model, layer, word, position, highlighted, x, y) and `axes` (axis,
        explained).

    Raises:
        SpecError: If the models differ in d_model or depth.
    """
    import pandas as pd

    words = ready.values["passage"]
    models = [ref for ref in spec.models if ref in outputs.values]
    arrays = {ref: np.asarray(outputs.values[ref]["vectors"]) for ref in models}
    if len({array.shape for array in arrays.values()}) > 1:
        sizes = ", ".join(f"{ref}: {array.shape[0] - 1} layers of {array.shape[2]}" for ref, array in arrays.items())
        raise SpecError(f"One token map holds models with the same layers and d_model, and these differ ({sizes}).")
    wanted = {word.casefold() for word in spec.highlight}
    frames, explained = [], np.zeros(2)
    if models:
        projection = project(np.stack([arrays[ref] for ref in models]))
        explained = projection.explained
        for ref, layers in zip(models, projection.points, strict=True):
            frames += [_layer_rows(ref, layer, words, points, wanted) for layer, points in enumerate(layers)]
    table = pd.concat(frames, ignore_index=True) if frames else _layer_rows("", 0, (), np.zeros((0, 2)), wanted)
    names = short_names(tuple(models))
    headline = (
        f"The two axes hold {explained.sum():.0%} of the variance of {len(words)} words in "
        f"{', '.join(names[ref] for ref in models)}."
        if models
        else "No model could read the passage; the reasons are below."
    )
    missing = sorted(wanted - {word.casefold() for word in words})
    return Result(
        study="tokens",
        spec=spec.plain(),
        headline=headline + _gathering(table, names),
        tables={"tokens": table, "axes": pd.DataFrame({"axis": [1, 2], "explained": explained})},
        notices=(f"Not among the words: {', '.join(missing)}.",) if missing else (),
        failures={**ready.failures, **outputs.failures},
        provenance=provenance(tuple(models)),
        methods=(
            "Each layer of each model was centred and scaled to unit root mean square over the words of the passage; "
            "one principal component analysis was fitted to all layers and models together. Points are words (means "
            "of their subwords)."
        ),
        citations=(CITATION,),
    )


def run_study(spec: TokenMapSpec, **options: Any) -> Result:
    """Prepare, plan, run and collect; options are those of `core.runs.runner.run_stages`."""
    ready, outputs = run_stages(prepare(spec), lambda ready: plan(spec, ready), **options)
    return collect(spec, ready, outputs)


def _layer_rows(
    ref: str, layer: int, words: tuple[str, ...], points: NDArray[np.float64], wanted: set[str]
) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "model": ref,
            "layer": layer,
            "word": list(words),
            "position": np.arange(len(words)),
            "highlighted": [word.casefold() in wanted for word in words],
            "x": points[:, 0],
            "y": points[:, 1],
        }
    )


def _gathering(table: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Where the highlighted words lie closest together, against all words of the same layer; "" with fewer than two."""
    closest: dict[str, tuple[float, int]] = {}
    for (model, layer), rows in table.groupby(["model", "layer"], sort=False):
        chosen = rows[rows["highlighted"]]
        if len(chosen) < 2:
            return ""
        spread = _mean_distance(rows)
        value = (_mean_distance(chosen) / spread if spread > 0 else np.inf, int(layer))
        closest[str(model)] = min(closest.get(str(model), value), value)
    parts = [f"layer {layer} of {names[model]} ({ratio:.2f})" for model, (ratio, layer) in closest.items()]
    if not parts:
        return ""
    closest_at = f" The highlighted words lie closest together at {', '.join(parts)}"
    return f"{closest_at}: their mean distance over that of all words."


def _mean_distance(rows: pd.DataFrame) -> float:
    points = rows[["x", "y"]].to_numpy()
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(distances[np.triu_indices(len(points), 1)].mean())
