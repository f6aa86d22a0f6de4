"""Examples to start from: eight studies of the included models, each with its finding and a small
figure.

An example is a study that a page opens by a link. Its finding is made from the numbers; where they
suggest a cause, the same sentence gives the rival explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from core.alignment.maps.registry import METHODS
from core.alignment.seeds.spec import AlignSpec
from core.options import Spec
from core.probes.trees.spec import ProbeSpec
from core.results.drawing.style import GREY, ORANGE, colours_of
from core.results.estimates import estimate_of
from core.results.names import short_name
from core.results.numbers import text_of
from core.rsa.layers.spec import RsaSpec
from core.weights.clusters.members import EVERY
from core.weights.clusters.spec import WeightsSpec

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

INK = "#5B5446"
EQUAL = 0.9999  # similarities above are those of equal vectors, stored in 16 bits


@dataclass(frozen=True)
class Series:
    """A line or a bar of a small figure: name, colour, and points as pairs of x and y."""

    name: str
    colour: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Finding:
    """The finding of an example.

    Attributes:
        sentence: The finding, made from the numbers.
        kind: "lines", "bars" or "arcs".
        series: Lines or bars of the figure, in order.
        axis: Name of the values.
    """

    sentence: str
    kind: str
    series: tuple[Series, ...]
    axis: str

    def plain(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Example:
    """A study to start from.

    Attributes:
        name: Key of the example.
        title: Two or three words, as many as a card has room for.
        page: The page's file.
        studies: Command and spec of each study that it reads; its link opens the first.
        find: Results, in the order of the studies -> the finding.
        view: Further parameters of the link, such as the page's view.
    """

    name: str
    title: str
    page: str
    studies: tuple[tuple[str, Spec], ...]
    find: Callable[[Sequence[Result]], Finding]
    view: Mapping[str, str]

    def query(self) -> dict[str, list[str]]:
        """Return the link's parameters: the first study's non-default options, and the view."""
        _, spec = self.studies[0]
        changed, kinds = spec.changed(), {option.name: option for option in _options(spec)}
        return {name: kinds[name].write(value) for name, value in changed.items()} | {
            name: [value] for name, value in self.view.items()
        }


def _options(spec: Spec) -> Any:
    from core.options import options_of

    return options_of(type(spec))


def _rewrites(results: Sequence[Result]) -> Finding:
    table = results[0].tables["similarity"]
    top = table[table["layer"] == table["layer"].max()].sort_values("similarity")
    least, most = top.iloc[0], top.iloc[-1]
    return Finding(
        f"{short_name(least['model'])} differs most from the base: similarity {_similarity(least)} "
        f"at layer {least['layer']} after its weights moved by "
        f"{text_of(least['relative_change'])} of their size. "
        f"{short_name(most['model'])} differs least: {_similarity(most)} after "
        f"{text_of(most['relative_change'])}.",
        "lines",
        _lines(table, "model", "similarity"),
        "similarity to the base by layer",
    )


def _rogue(results: Sequence[Result]) -> Finding:
    without, with_it = (result.tables["similarity"] for result in results)
    both = with_it.merge(without, on=["model", "layer"], suffixes=("", "_without"))
    shift = both.loc[(both["similarity_without"] - both["similarity"]).abs().idxmax()]
    dropped = int(results[0].spec["drop_rogue"])
    named = "one dimension" if dropped == 1 else f"{dropped} dimensions"
    model = short_name(shift["model"])
    rows = both[both["model"] == shift["model"]]
    return Finding(
        f"Without {named} of the vectors, the similarity of {model} to the base at layer "
        f"{shift['layer']} is "
        f"{text_of(shift['similarity_without'])} instead of {text_of(shift['similarity'])}: part "
        f"of the measured difference is due to {named}.",
        "lines",
        (
            Series("all dimensions", GREY, _points(rows, "similarity")),
            Series(f"without {named}", ORANGE, _points(rows, "similarity_without")),
        ),
        f"similarity of {model} to the base by layer",
    )


def _unseen(results: Sequence[Result]) -> Finding:
    table = results[0].tables["methods"]
    table = table[table["group"] == "models"]
    error = {(str(row.words), str(row.method)): float(row.nmse) for row in table.itertuples()}
    series = []
    for words, colour in (("seen", GREY), ("unseen", ORANGE)):
        series += [
            Series(f"{METHODS[name].label}, {words}", colour, ((number, error[words, name]),))
            for number, name in enumerate(("lookup", "ridge"))
        ]
    return Finding(
        "On words seen in training, a per-word average, which ignores the other model, leaves "
        f"{text_of(error['seen', 'lookup'], 'per cent')} of the variance unexplained and ridge "
        f"{text_of(error['seen', 'ridge'], 'per cent')}. On unseen words they leave "
        f"{text_of(error['unseen', 'lookup'], 'per cent')} and "
        f"{text_of(error['unseen', 'ridge'], 'per cent')}.",
        "bars",
        tuple(series),
        "held-out error: share of variance unexplained (lower is better)",
    )


def _weights(results: Sequence[Result]) -> Finding:
    result = results[0]
    used, table = int(result.arrays["k"]), result.tables["vectors"]
    rows = table[table["k"] == used].set_index("vector")
    chosen = str(result.spec["vector"])
    names = list(dict.fromkeys([chosen, "norms", *rows.index]))
    bars = [
        Series(name, ORANGE if name == chosen else GREY, ((0.0, float(rows.loc[name, "share"])),))
        for name in names
    ]
    chance = float(rows.loc[chosen, "chance"])
    return Finding(
        f"By the direction of the weight update, {text_of(rows.loc[chosen, 'share'], 'per cent')} "
        "of each "
        f"model's {used} nearest neighbours share its task (chance {text_of(chance, 'per cent')}). "
        f"By its size alone, {text_of(rows.loc['norms', 'share'], 'per cent')} do.",
        "bars",
        (*bars, Series("chance", INK, ((0.0, chance),))),
        "share of nearest neighbours with the same task",
    )


def _seeds(results: Sequence[Result]) -> Finding:
    table = results[0].tables["methods"]
    rows = table[(table["group"] == "models") & (table["words"] == "unseen")].set_index("method")[
        "nmse"
    ]
    left_out = [name for name in rows.index if METHODS[name].kind == "control" or name == BOTH]
    maps = rows.drop(left_out).sort_values()
    window = ""
    if WINDOW in rows:
        window = (
            f"; the embeddings of a few words alone predict "
            f"{text_of(1 - float(rows[WINDOW]), 'per cent')}"
        )
    best, linear = str(maps.index[0]), float(rows["ridge"])
    return Finding(
        f"On unseen words, {METHODS[best].label} predicts {text_of(1 - maps.iloc[0], 'per cent')} "
        "of the variance of one seed's vectors from the other's, ridge "
        f"{text_of(1 - linear, 'per cent')} and the invertible network "
        f"{text_of(1 - float(rows['inn']), 'per cent')}{window}. This does not show a bijection.",
        "bars",
        tuple(
            Series(METHODS[str(name)].label, METHODS[str(name)].colour, ((0.0, float(value)),))
            for name, value in maps.items()
        ),
        "held-out error: share of variance unexplained (lower is better)",
    )


def _tree(results: Sequence[Result]) -> Finding:
    from core.probes.sentence.study import (
        SENTENCE_SHOWN,
        SentenceSpec,
        draw_sentence,
        run_sentences,
    )

    result: Any = results[0]
    model = next(iter(result.probes))
    layer = result.best_layer(model)
    layers = result.probes[model].layers
    read = run_sentences(SentenceSpec(model, layers, pipeline=result.pipeline, text=SENTENCE_SHOWN))
    view = draw_sentence(result, model, layer, read.trees[0], read.vectors[0])
    at_layer = result.table[(result.table["model"] == model) & (result.table["layer"] == layer)]
    uuas = float(
        at_layer[(at_layer["metric"] == "uuas") & (at_layer["probe"] == "distance")]["value"].iloc[
            0
        ]
    )
    chain = result.table[
        (result.table["model"] == "linear chain") & (result.table["metric"] == "uuas")
    ]
    neighbours = ""
    if len(chain):
        neighbours = f"; linking adjacent words gives {text_of(chain['value'].iloc[0], 'points')} %"
    arcs = [(edge, -1.0, ORANGE) for edge in (*view.agreed, *view.invented)]
    arcs += [(edge, 1.0, INK) for edge in (*view.agreed, *view.missed)]
    return Finding(
        f"A probe predicts {len(view.agreed)} of {len(view.agreed) + len(view.missed)} parse edges "
        f"of “{' '.join(view.words[:5])} …” from layer {layer}, and {text_of(uuas, 'points')} % on "
        f"test sentences{neighbours}.",
        "arcs",
        tuple(
            Series(
                "predicted" if up < 0 else "parse",
                colour,
                ((float(edge[0]), up), (float(edge[1]), up)),
            )
            for edge, up, colour in arcs
        ),
        "parse above, predicted tree below",
    )


def _frozen(results: Sequence[Result]) -> Finding:
    table = results[0].tables["similarity"]
    parts = []
    for model, rows in table.groupby("model", sort=False):
        equal = rows[rows["similarity"] > EQUAL]["layer"]
        after = rows[rows["layer"] == equal.max() + 1]
        above = [
            f" (similarity {text_of(value)} one layer higher)" for value in after["similarity"]
        ]
        if len(equal):
            upto = f"{short_name(str(model))} equals the base up to layer {equal.max()}"
            parts.append("".join([upto, *above]))
    return Finding(
        f"{'; '.join(parts)}. These layers were frozen in training.",
        "lines",
        _lines(table, "model", "similarity"),
        "similarity to the base by layer",
    )


def _doses(results: Sequence[Result]) -> Finding:
    table = results[0].tables["doses"]
    by = {vector: rows.set_index("model")["lies_with"] for vector, rows in table.groupby("vector")}
    task = {vector: int((nearest == "task").sum()) for vector, nearest in by.items()}
    chosen, models = str(results[0].spec["vector"]), list(dict.fromkeys(table["model"]))
    listed = " and ".join(short_name(str(model)) for model in models)
    return Finding(
        f"By the direction of the weight update, {task[chosen]} of {len(models)} models trained "
        "with "
        f"another learning rate ({listed}) are nearest to their own task. By its size alone "
        f"{task['norms'] or 'none'} {'is' if task['norms'] < 2 else 'are'}; "
        f"{int((by['norms'] == 'dose').sum())} are nearest to other tasks' models with an update "
        "of similar size.",
        "bars",
        tuple(
            Series(name, ORANGE if name == chosen else GREY, ((0.0, float(count)),))
            for name, count in task.items()
        ),
        f"number of models (of {len(models)}) nearest to their own task",
    )


WINDOW, BOTH = "static-window", "state-and-window"
QUICK = ("identity", "lookup", "procrustes", "ridge")
ODD = ("zoo:sentiment-fast", "zoo:parse-slow")
FROZEN = ("zoo:parse-frozen-2", "zoo:parse-frozen-4")
RSA, PROBE, WEIGHTS, ALIGN = (
    *("pages/rsa.py", "pages/probe_trees.py"),
    *("pages/weight_clustering.py", "pages/seed_alignment.py"),
)
EXAMPLES = (
    Example("rewritten", "Where fine-tunes differ", RSA, (("rsa", RsaSpec()),), _rewrites, {}),
    Example(
        "rogue", "A rogue dimension", RSA,
        (("rsa", RsaSpec(drop_rogue=1)), ("rsa", RsaSpec())), _rogue, {},
    ),
    Example(
        "frozen", "Frozen layers", RSA, (("rsa", RsaSpec(compare=FROZEN)),), _frozen, {},
    ),
    Example(
        "tree", "One sentence", PROBE, (("probe", ProbeSpec()),), _tree, {"view": "Sentence"},
    ),
    Example(
        "weights", "Weights reveal the task", WEIGHTS,
        (("weights", WeightsSpec()),), _weights, {"view": "Neighbours"},
    ),
    Example(
        "doses", "Another learning rate", WEIGHTS,
        (("weights", WeightsSpec(models=(EVERY, *ODD))),), _doses, {},
    ),
    Example("seeds", "Two seeds, one space?", ALIGN, (("align", AlignSpec()),), _seeds, {}),
    Example(
        "unseen", "Unseen words", ALIGN,
        (("align", AlignSpec(methods=QUICK, split="sentence")),), _unseen, {},
    ),
)  # fmt: skip


def _lines(table: pd.DataFrame, name: str, value: str) -> tuple[Series, ...]:
    colours = colours_of(dict.fromkeys(table[name]))
    return tuple(
        Series(short_name(str(ref)), colours[str(ref)], _points(rows, value))
        for ref, rows in table.groupby(name, sort=False)
    )


def _points(rows: pd.DataFrame, value: str) -> tuple[tuple[float, float], ...]:
    return tuple(
        (float(x), round(float(y), 4)) for x, y in zip(rows["layer"], rows[value], strict=True)
    )


def _similarity(row: pd.Series) -> str:
    return estimate_of(row, "similarity").text
