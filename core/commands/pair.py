"""A pair, a base model and its fine-tune: checked first, then compared by every study that fits it.

Each study runs at a moderate size. One that cannot be run gives its reason; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.catalogue import STUDIES
from core.commands.study import PATIENCE, command_line
from core.errors import CancelledError, NotStoredError, PalimpsestError
from core.models import included_entries, parse_ref
from core.models.identity import find_copies, identify, other_base
from core.models.sizes import download_of
from core.models.weights.relation import is_related, measure_relation
from core.options import Spec
from core.results.words import checked, read_toml
from core.runs.price import Price, combined
from core.runs.runner import Task, run
from core.runs.tasks import Signal
from core.studies.notices import nothing_but_base
from core.studies.text_kit import layers_in_words, short_name, short_names, text_of

if TYPE_CHECKING:
    from core.results.export import Result
    from core.runs.store import Store

SIMILARITY, WEIGHTS, INTRUDERS, PROBES, SWAP = (
    "similarity",
    "weights",
    "intruders",
    "probes",
    "swap",
)
PARTS = {
    SIMILARITY: "rsa",
    WEIGHTS: "weights",
    INTRUDERS: "weights intruders",
    PROBES: "probe",
    SWAP: "swap",
}
FILE = Path(__file__).with_name("pair_check.toml")
SENTENCES: Mapping[str, str] = checked(Mapping[str, str], read_toml(FILE), str(FILE))
NO_COMMON_BASE = SENTENCES["no_common_base"]
OF_A_CHANGE = (WEIGHTS, INTRUDERS, SWAP)  # meaningless for two models without a common base


@dataclass(frozen=True)
class Check:
    """The check of a pair before its studies start.

    Attributes:
        base, model: References.
        related: Whether the model may have been fine-tuned from the base.
        relation: What `measure_relation` returned.
        between_seeds: Distance of two included models of this shape without a common base; None if
            there are none.
        cost: Expected price of a report.
        same: Whether the files of their weights are known to have the same content.
        recorded: The base that an adapter names, where its weights are not this base's; else "".
    """

    base: str
    model: str
    related: bool
    relation: Mapping[str, Any]
    between_seeds: float | None
    cost: Price
    same: bool = False
    recorded: str = ""

    @property
    def sentence(self) -> str:
        """Say how the two models are related, with the numbers."""
        base, model = short_names((self.base, self.model)).values()
        key, values = self._choose_sentence()
        return SENTENCES[key].format(base=base, model=model, **values)

    def _choose_sentence(self) -> tuple[str, dict[str, str]]:
        """Choose the sentence by its key, and fill in what it has besides the models' names."""
        relation = self.relation
        if self.recorded:
            return "adapter_of_other", {"recorded": self.recorded}
        if relation["adapter"] and self.related:
            return "adapter", {}
        if relation["reason"]:
            return "misfit", {"reason": relation["reason"]}
        if self.same:
            return "same", {}
        layers = [1 + layer for layer in sorted(relation["layers"])]
        read = layers_in_words(layers)
        if relation["distance"] == 0:
            every = len(layers) == relation["depths"][0]
            return "equal", {
                "where": "every layer" if every else f"{read}, the only ones that were read"
            }
        numbers = SENTENCES["distance"].format(
            layers=read,
            distance=text_of(relation["distance"], "per cent"),
            unrelated=text_of(relation["unrelated"], "per cent"),
        )
        if self.between_seeds is not None:
            seeds = text_of(self.between_seeds, "per cent")
            numbers += f", and two included seeds by {seeds}"
        words = relation["vocabularies"]
        if words[0] != words[1]:
            numbers += f"; their vocabularies have {words[0]:,} and {words[1]:,} entries"
        return "related" if self.related else "unrelated", {"numbers": numbers}


@dataclass(frozen=True)
class Part:
    """A study of the pair: its result, or the reason why there is none."""

    name: str
    command: str
    result: Result | None = None
    reason: str = ""


def check_pair(base: str, model: str, **options: Any) -> Check:
    """Check architecture, vocabulary, whether one was fine-tuned from the other, and the price;
    options are for `run`. Raises ModelError if one cannot be read, SpecError if both are one."""
    if parse_ref(base) == parse_ref(model):
        raise nothing_but_base(base)
    unrelated = _unrelated(base)
    pairs = {"pair": (base, model)} | (
        {"others": (base, unrelated)} if unrelated and unrelated != model else {}
    )
    models = {ref: identify(ref, run=False) for pair in pairs.values() for ref in pair}
    tasks = [
        Task.of(
            f"{short_name(first)} and {short_name(second)}",
            measure_relation,
            role=role,
            base=first,
            other=second,
            base_identity=models[first].content,
            other_identity=models[second].content,
        )
        for role, (first, second) in pairs.items()
    ]
    # before the check, which may download parts
    missing = {ref: download_of(ref) for ref in (base, model)}
    outputs = run(tasks, **options)
    measured = outputs.need("pair")
    others = outputs.values.get("others")
    distance = others["distance"] if others and not others["reason"] else None
    related = not measured["reason"] and is_related(measured)
    same = bool(find_copies({ref: models[ref].weights for ref in (base, model)}))
    recorded = other_base(model, models[base].weights) if measured["adapter"] else ""
    check = Check(base, model, related, measured, distance, Price(0.0, 0.0), same, recorded)
    cost = combined(prices_of(check).values())
    return replace(check, cost=replace(cost, download=sum(missing.values()) / 1e9))


def prices_of(check: Check) -> dict[str, Price]:
    """Price each study that fits the pair; one without a price gives its reason when it is run."""
    prices: dict[str, Price] = {}
    for name, spec in specs_of(check).items():
        if not unfit(check, name):
            with suppress(PalimpsestError):
                prices[name] = STUDIES[PARTS[name]].price(spec)
    return prices


def further_commands(check: Check) -> list[str]:
    """Name the commands whose studies are about a base and its fine-tune, and that no report runs,
    each after the question that it answers."""
    if not check.related or check.relation["adapter"]:
        return []
    study = STUDIES["align barrier"]
    spec = study.Spec(base=check.base, models=(check.base, check.model))
    return [f"{study.title} {command_line(study.name, spec)}"]


def is_pair_stored(check: Check, store: Store) -> bool:
    """Whether all results of the pair's report are stored; nothing is computed to find out."""
    try:
        run_pair(check, store=store, signal=Signal(look_only=True, patience=PATIENCE))
    except NotStoredError:
        return False
    return True


def specs_of(check: Check) -> dict[str, Spec]:
    """Make the spec of each part, at a moderate size."""
    base, model = check.base, check.model
    asked: dict[str, dict[str, Any]] = {
        SIMILARITY: {"base": base, "compare": (model,)},
        WEIGHTS: {"base": base, "models": (model,)},
        INTRUDERS: {"base": base, "models": (model,)},
        PROBES: {
            "models": (base, model),
            "probes": ("distance",),
            "sentences": 400,
            "seeds": 1,
            "controls": 1,
            "epochs": 20,
            "draws": 500,
        },
        SWAP: {"base": base, "compare": (model,), "frozen": False},
    }
    return {name: STUDIES[PARTS[name]].Spec(**values) for name, values in asked.items()}


def run_pair(
    check: Check, announce: Callable[[str], None] = lambda name: None, **options: Any
) -> list[Part]:
    """Run every study that fits the pair, each announced when it starts; one that cannot be run
    gives its reason."""

    def run_part(name: str, spec: Spec) -> Part:
        command = command_line(PARTS[name], spec)
        if why := unfit(check, name):
            return Part(name, command, reason=why)
        announce(name)
        try:
            result = STUDIES[PARTS[name]].run(spec, **options)
        except (CancelledError, NotStoredError):
            raise  # the whole run was cancelled, or limited to stored results
        except PalimpsestError as error:
            return Part(name, command, reason=str(error))
        if len(result.table):
            return Part(name, command, result)
        reason = next(iter((*result.left_out, *result.notices)), result.cautioned())
        return Part(name, command, reason=reason)

    return [run_part(name, spec) for name, spec in specs_of(check).items()]


def unfit(check: Check, name: str) -> str:
    """Say why a part does not fit the pair; "" if it may."""
    if name in OF_A_CHANGE and not check.related:
        return check.relation["reason"] or NO_COMMON_BASE
    return ""


def _unrelated(base: str) -> str:
    """Find an included model pretrained from other random weights; "" if there is none."""
    entries = included_entries()
    if base not in entries:
        return ""
    root = str(entries[base].get("base") or base)
    seed = entries.get(root, {}).get("seed")
    pretrained = (ref for ref, entry in entries.items() if not entry.get("base") and "@" not in ref)
    return next((ref for ref in pretrained if entries[ref].get("seed") != seed), "")
