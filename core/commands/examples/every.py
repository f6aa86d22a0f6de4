"""Examples to start from: twelve studies of the included models, each with its finding and a small
figure.

An example is a study that a page opens by a link.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.commands.examples import alignment, probes, rsa, weights
from core.commands.examples.finding import Finding
from core.options import Spec, options_of
from core.results.export import Result
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.spaces.spec import SpacesSpec
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.intruders.spec import IntruderSpec


@dataclass(frozen=True)
class Example:
    """A study to start from.

    Attributes:
        name: Key of the example.
        title: Two or three words, as many as a card has room for.
        page: The page's file.
        studies: Command and spec of each study that it reads.
        find: Results, in the order of the studies -> the finding.
        view: The page's view, where it is not the first.
        opened: Which of the studies its link opens; one that is not the first is an experiment of
            the page.
    """

    name: str
    title: str
    page: str
    studies: tuple[tuple[str, Spec], ...]
    find: Callable[[Sequence[Result]], Finding]
    view: str = ""
    opened: int = 0

    def query(self) -> dict[str, list[str]]:
        """Return the link's parameters: the study's non-default options, and what shows it."""
        study, spec = self.studies[self.opened]
        return query_of(spec, study if self.opened else "", self.view)


def query_of(spec: Spec, beside: str = "", view: str = "") -> dict[str, list[str]]:
    """Return the parameters of a link to a study: its non-default options, the command of an
    experiment that stands `beside` its page's study, and the page's view where it is not the
    first."""
    kinds = {option.name: option for option in options_of(type(spec))}
    shown = {"study": [beside] if beside else [], "view": [view] if view else []}
    return {name: kinds[name].as_query(value) for name, value in spec.changed().items()} | {
        name: texts for name, texts in shown.items() if texts
    }


ODD = ("zoo:sentiment-fast", "zoo:parse-slow")
FROZEN = ("zoo:parse-frozen-2", "zoo:parse-frozen-4")
READER = ("zoo:qa-0",)
DECODERS = ("zoo:decoder-0", "zoo:decoder-1", "zoo:decoder-2")
ADAPTED = ("zoo:parse-0", "zoo:parse-0-lora-8")
BASES = ("zoo:seed-?", "zoo:decoder-*")
JOINED = alignment.JOINED
QUICK = ("identity", "lookup", "procrustes", "ridge")
SENTENCES, DRAWS = ProbeSpec().sentences, ProbeSpec().draws
RSA, PROBE, WEIGHTS, ALIGN = (
    *("pages/rsa.py", "pages/probe_trees.py"),
    *("pages/weight_clustering.py", "pages/seed_alignment.py"),
)
STORY = Example(  # what the home page shows first
    *("map", "Map of models", RSA, (("rsa", RsaSpec()), ("spaces", SpacesSpec()))),
    *(rsa.spaces, "", 1),
)
EXAMPLES = (
    Example(
        "rewritten", "Which layers change?", RSA, (("rsa", RsaSpec()),), rsa.rewrites,
    ),
    Example(
        "rogue", "A rogue dimension", RSA,
        (("rsa", RsaSpec(drop_rogue=1)), ("rsa", RsaSpec())), rsa.rogue,
    ),
    Example(
        "frozen", "Frozen layers", RSA, (("rsa", RsaSpec(compare=FROZEN)),), rsa.frozen,
    ),
    Example(
        "tree", "One sentence", PROBE,
        (("probe", ProbeSpec()),), probes.tree, "Sentence",
    ),
    Example(
        "weights", "Weights reveal the task", WEIGHTS,
        (("weights", WeightsSpec()),), weights.weights,
    ),
    Example(
        "doses", "Another learning rate", WEIGHTS,
        (("weights", WeightsSpec(models=(*WeightsSpec().models, *ODD))),), weights.doses,
    ),
    Example(
        "seeds", "Two seeds, one space?", ALIGN, (("align", AlignSpec()),), alignment.seeds,
    ),
    Example(
        "averaged", "Averaging two models", ALIGN,
        (("align", AlignSpec()), ("align barrier", alignment.AVERAGED)),
        alignment.averaged, opened=1,
    ),
    Example(
        "answer", "Finding an answer", RSA,
        (
            ("rsa", RsaSpec(compare=READER)),
            ("tokens", TokenMapSpec((RsaSpec().base, *READER))),
        ),
        rsa.answer, "Token map",
    ),
    Example(
        "decoders", "Two decoders", RSA,
        (
            ("rsa", RsaSpec(base=DECODERS[0], compare=DECODERS[1:])),
            ("rsa", RsaSpec()),
        ),
        rsa.decoders,
    ),
    Example(
        "adapters", "Adapters intrude", WEIGHTS,
        (("weights", WeightsSpec()), ("weights intruders", IntruderSpec(models=ADAPTED))),
        weights.adapters, opened=1,
    ),
    Example(
        "grammar", "Who knows grammar?", PROBE,
        (
            ("probe", ProbeSpec()),
            ("probe behaviour", BehaviourSpec(models=BASES, sentences=SENTENCES, draws=DRAWS)),
        ),
        probes.grammar,
        opened=1,
    ),
)  # fmt: skip
