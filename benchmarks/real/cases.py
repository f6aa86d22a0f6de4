"""Every study on real models, at sizes for a laptop: what is run, and what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import PalimpsestError

if TYPE_CHECKING:
    from core.results.export import Result

DIFF = "diff"
FAMILY = ("rxnfp-base", "rxnfp-ft", "rxnfp-10k")
PAIR = ("rxnfp-base", "rxnfp-10k")
AS_PUBLISHED = "rxnfp-ft-as-published"
NAME = "sentence-transformers/all-MiniLM-L6-v2"
BASE = f"hub:{NAME}"  # of the included adapters, which find it as the Hub's
ADAPTERS = ("minilm-parse-0", "minilm-sentiment-0", "minilm-nli-0")
PARSERS = ("minilm-parse-0", "minilm-parse-1")  # two runs, whose heads have the same labels
PARTS = ("train", "dev", "test")
Facts = dict[str, float]
FEW = {"sentences": 30}
DRAWS = {"draws": 50}
MAPPED = 150  # reactions that maps are fitted to: they have few molecules that differ


def no_facts(result: Result, names: Mapping[str, str]) -> Facts:
    """Read nothing, as of most studies."""
    return {}


def changes(result: Result, names: Mapping[str, str]) -> Facts:
    """Read the size of each fine-tune's change, relative to the base."""
    rows = result.table.to_dict("records")
    return {f"change of {names[row['model']]}": float(row["relative_delta"]) for row in rows}


def intruders(result: Result, names: Mapping[str, str]) -> Facts:
    """Read how many directions were looked at, and how many are intruders."""
    totals = result.tables["families"].query("family == 'all'").to_dict("records")
    return {
        f"{what} of {names[row['model']]}": float(row[column])
        for row in totals
        for what, column in (("directions", "looked"), ("intruders", "intruders"))
    }


def siblings(result: Result, names: Mapping[str, str]) -> Facts:
    """Compute the cosine of two changes from the three distances, by the law of cosines."""
    rows = result.tables["relatives"].to_dict("records")
    distances = {
        frozenset((names[row["model"]], names[row["other"]])): row["distance"] for row in rows
    }
    base, first, second = FAMILY
    one, two = distances[frozenset((base, first))], distances[frozenset((base, second))]
    between = distances[frozenset((first, second))]
    return {"cosine of the changes": (one**2 + two**2 - between**2) / (2 * one * two)}


def static_window(result: Result, names: Mapping[str, str]) -> Facts:
    """Read the UUAS of the layer that is best on the development sentences, that of the static
    window, and the difference."""
    from core.studies.probes.trees.tables import WINDOW

    best = result.tables["best_layers"].query("metric == 'uuas'")["best_layer"].iloc[0]
    (row,) = (
        result.tables["margins"]
        .query(f"metric == 'uuas' and rival == '{WINDOW}' and layer == {best}")
        .to_dict("records")
    )
    return {
        "UUAS of the best layer": row["rival_value"] + row["margin"],
        "UUAS of the static window": row["rival_value"],
        "above the static window": row["margin"],
        "above the static window, lower end": row["low"],
    }


@dataclass(frozen=True)
class Case:
    """One run of a study.

    Attributes:
        study: Its name in the catalogue, or `DIFF`.
        models: Names of models, as the table has them.
        values: Options of its spec; `values` of `DIFF` are `base` and `model`.
        text: What the models read, in a few words; none of a study of weights.
        refused: Whether the study refuses these models, with a sentence that says why.
        facts: Reads figures that others computed too.
    """

    study: str
    models: tuple[str, ...]
    values: dict[str, Any]
    text: str = ""
    refused: bool = False
    facts: Callable[[Result, Mapping[str, str]], Facts] = field(default=no_facts, compare=False)

    @property
    def name(self) -> str:
        """Say what is run, such as "rsa: minilm, smollm2 (demo)"."""
        text = f" ({self.text})" if self.text else ""
        return f"{self.study}: {', '.join(self.models)}{text}"


@dataclass(frozen=True)
class Treebank:
    """Files of CoNLL-U with training, development and test sentences, and what it is called."""

    train: Path
    dev: Path
    test: Path
    name: str

    @classmethod
    def of_folder(cls, folder: Path) -> Treebank:
        """Find the three files of a treebank of Universal Dependencies in a folder.

        Raises:
            PalimpsestError: If there is not one file of each part.
        """
        files = {part: sorted(folder.glob(f"*-ud-{part}.conllu*")) for part in PARTS}
        if any(len(listed) != 1 for listed in files.values()):
            raise PalimpsestError(
                f"{folder} does not hold one treebank: put its *-ud-train.conllu, *-ud-dev.conllu "
                "and *-ud-test.conllu there, packed with gzip or not."
            )
        train, dev, test = (files[part][0] for part in PARTS)
        return cls(train, dev, test, train.name.partition("-ud-")[0])


def cases(
    folders: Mapping[str, Path], reactions: Path, treebank: Treebank | None
) -> Iterator[Case]:
    """Make all cases, those with figures to check and the quick ones first.

    Args:
        folders: Of the models, by name.
        reactions: Text of the chemistry models.
        treebank: That MiniLM is probed on; the demo text without one.
    """
    yield from _of_weights(folders)
    yield from _of_english(folders, treebank)
    yield from _of_adapters()
    yield from _of_chemistry(folders, str(reactions))
    base, tuned = (f"path:{folders[name]}" for name in PAIR)
    yield Case(DIFF, PAIR, {"base": base, "model": tuned}, "demo")


def _of_weights(folders: Mapping[str, Path]) -> Iterator[Case]:
    base, ft, tuned, unnamed = (f"path:{folders[name]}" for name in (*FAMILY, AS_PUBLISHED))
    yield Case("weights", FAMILY, {"base": base, "models": (ft, tuned)}, facts=changes)
    as_published = {"base": base, "models": (unnamed,)}
    yield Case("weights", (FAMILY[0], AS_PUBLISHED), as_published, refused=True)
    yield Case("weights lineage", FAMILY, {"models": (base, ft, tuned)}, facts=siblings)
    yield Case(
        "weights intruders",
        FAMILY,
        {"base": base, "models": (ft, tuned), "draws": 40},
        facts=intruders,
    )
    yield Case("weights arithmetic", FAMILY, {"base": base, "models": (ft, tuned)})
    yield Case("audit", FAMILY, {"models": (base, ft, tuned), "kind": "seeds"})


def _of_adapters() -> Iterator[Case]:
    """The included adapters of MiniLM: what changed, what for, what is lost, what adds up."""
    tuned = tuple(f"zoo:{name}" for name in ADAPTERS)
    pair, own = tuned[:2], ("minilm", *ADAPTERS)
    few: dict[str, Any] = {"references": False, "words": 120, **FEW}
    yield Case("rsa", own, {"base": BASE, "compare": tuned, **few}, "demo")
    yield Case("weights", own, {"base": BASE, "models": tuned})
    yield Case("weights intruders", own, {"base": BASE, "models": tuned, "draws": 60})
    scaled = {"base": BASE, "models": tuned[:1], "removals": 2}
    yield Case("weights scaling", own[:2], scaled, "demo-gold")
    arithmetic = {"base": BASE, "models": pair, "randoms": 2, "sentences": 20}
    yield Case("weights arithmetic", own[:3], arithmetic, "demo")
    reverted = {"frozen": False, "noises": 2, **FEW, **DRAWS}
    yield Case("swap", own[:2], {"base": BASE, "compare": tuned[:1], **reverted}, "demo")
    probes = {"probes": ("distance",), "controls": 0, "untrained": False, "layers": (0, 3, 6)}
    values = {"models": (BASE, tuned[0]), **probes, "seeds": 1, "sentences": 200}
    yield Case("probe", own[:2], values, "demo")
    parsers = {"models": tuple(f"zoo:{name}" for name in PARSERS), "base": BASE}
    yield Case("align barrier", PARSERS, {**parsers, **FEW}, "demo-gold")


def _of_chemistry(folders: Mapping[str, Path], text: str) -> Iterator[Case]:
    base, ft, tuned = (f"path:{folders[name]}" for name in FAMILY)
    few: dict[str, Any] = {"corpus": text, **FEW}
    read = {"corpus": text, "sentences": MAPPED}

    def case(
        study: str, models: tuple[str, ...], values: dict[str, Any], refused: bool = False
    ) -> Case:
        return Case(study, models, values, "reactions", refused)

    yield case("rsa", FAMILY, {"base": base, "compare": (ft, tuned), "words": 120, **few})
    small = {"words": 120, "references": False, "functions": False, **FEW}
    yield Case("rsa", PAIR, {"base": base, "compare": (tuned,), **small}, "demo")
    yield case(
        "training", PAIR, {"end": tuned, "steps": (base,), "others": (), "words": 120, **few}
    )
    yield case("spaces", FAMILY, {"models": (base, ft, tuned), "words": 120, **few})
    planted = {"plants": 2, "measures": ("rsa", "cka-debiased"), "words": 120}
    yield case(
        "truth", FAMILY, {"base": base, "compare": (ft, tuned), "planted": (ft,), **planted, **few}
    )
    pair = {"base": base, "compare": (tuned,)}
    yield case("divergence", PAIR, {**pair, "others": (), **few}, refused=True)
    yield case("lens", PAIR, {"base": base, "models": (tuned,), "others": (), **few}, refused=True)
    yield case("swap", PAIR, {**pair, "frozen": False, "noises": 2, **few, **DRAWS}, refused=True)
    maps = {"methods": ("identity", "shuffled", "lookup", "procrustes", "ridge"), "grid": ""}
    yield case("align", FAMILY[:2], {"models": (base, ft), "layers": (6, 12), **maps, **read})
    yield case("align rotation", FAMILY[:2], {"models": (base, ft), "draws": 2, **read})
    both: dict[str, Any] = {"models": (base, ft)}
    yield case("align attention", FAMILY[:2], {**both, "methods": ("identity", "ridge"), **read})
    own = {"models": (ft, tuned), "base": base}
    yield case("align barrier", FAMILY[1:], {**own, **read}, refused=True)
    yield case("align stitch", FAMILY[1:], {"models": (ft, tuned), **read}, refused=True)
    published = {"tuned": (), "steps": 2, "length": 16}
    yield case("align protocol", FAMILY[:2], {**both, **published, **read, "sentences": 100})
    yield Case(
        "probe training",
        PAIR,
        {
            "end": tuned,
            "steps": (base,),
            "seeds": 1,
            "controls": 0,
            "epochs": 5,
            **DRAWS,
            "sentences": 100,
        },
        "demo",
    )


def _of_english(folders: Mapping[str, Path], treebank: Treebank | None) -> Iterator[Case]:
    minilm, smollm = (f"path:{folders[name]}" for name in ("minilm", "smollm2"))
    both = ("minilm", "smollm2")
    text: dict[str, object] = {"sentences": 800}
    if treebank:
        text = {"sentences": 1_200, **{part: str(getattr(treebank, part)) for part in PARTS}}
    probes = {"probes": ("distance",), "untrained": False, "controls": 0, "layers": (0, 2, 3, 4)}
    yield Case(
        "probe",
        both[:1],
        {"models": (minilm,), **probes, **text},
        treebank.name if treebank else "demo",
        facts=static_window,
    )
    yield Case("tokens", both[1:], {"models": (smollm,)}, "its passage")
    few: dict[str, Any] = {**FEW, "words": 200}
    untrained = (smollm, f"random:{smollm}")
    yield Case(
        "rsa",
        both[1:],
        {"base": smollm, "compare": untrained[1:], "references": False, "functions": False, **few},
        "demo",
    )
    yield Case(
        "divergence",
        both[1:],
        {"base": smollm, "compare": untrained[1:], "others": (), **few, "sentences": 20},
        "demo",
    )
    yield Case(
        "lens",
        both[1:],
        {"base": smollm, "models": untrained[1:], "others": (), "sentences": 20},
        "demo",
    )
    yield Case("bits", both[1:], {"models": untrained, **FEW}, "demo")
    yield Case("bits", both[:1], {"models": (minilm,), **FEW}, "demo", refused=True)
    behaviour = {"kinds": ("agreement",), "pairs": 10, "probes": False}
    yield Case("probe behaviour", both[1:], {"models": untrained, **behaviour}, "minimal pairs")
    values = {"models": (minilm,), **behaviour}
    yield Case("probe behaviour", both[:1], values, "minimal pairs", refused=True)
    edges = {"sentences": 100, "controls": 0, "untrained": False, "layers": (0, 3)}
    yield Case("probe edges", both[:1], {"models": (minilm,), **edges}, "demo")
    erased = {"sentences": 100, "layers": (3,), "randoms": 2, "scored": 4, "epochs": 5}
    values = {"models": (smollm,), "kinds": (), **erased}
    yield Case("probe removal", both[1:], values, "demo")
    arcs = {"sentences": 200, "controls": 0, "seeds": 1, "epochs": 10, "layers": (0, 3)}
    yield Case("probe polar", both[:1], {"models": (minilm,), "untrained": False, **arcs}, "demo")
    methods = {"methods": ("identity", "shuffled", "lookup", "procrustes", "ridge")}
    maps = {"layers": (3,), "grid": "", "sentences": 50, **methods}
    yield Case("align", both, {"models": (minilm, smollm), **maps}, "demo")
    check = {"methods": ("identity", "ols", "ridge"), "sentences": 60}
    yield Case("align check", both[:1], {"model": minilm, **check}, "demo")
