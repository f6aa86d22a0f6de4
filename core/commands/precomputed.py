"""Making and checking the precomputed results: what each page shows first, its cheap views, and the
examples.

`make precomputed` runs every study below, where the store or the file lacks something of it, and
then once more from an empty store over a layer that records which keys are read; exactly these are
written (outputs of tasks, words, parses, vectors). A check runs the studies over the file itself:
keys that are read and not there are missing, keys that are never read are stale. A check computes
nothing.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import core.runs.store as runs_store
from core import COMMAND
from core.catalogue import STUDIES
from core.commands.examples.every import EXAMPLES, JOINED, QUICK, STORY
from core.errors import NotStoredError
from core.options import Spec
from core.runs.precomputed import (
    Precomputed,
    default_precomputed,
    included_precomputed,
    write_precomputed,
)
from core.runs.process.remembered import file_state, remembered
from core.runs.tasks import Signal
from core.studies.probes.sentence.study import SENTENCE_SHOWN, SentenceSpec, run_sentences
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.lens.spec import CLASSIFIERS
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.weights.clusters.spec import WeightsSpec

CARDS = "cards.json"
OTHER_GENRES = ("legal", "technical")  # of the second text that the RSA page shows first
ON_REQUEST = ("weights scaling",)  # studies whose results the file has no room for
PATIENCE = 600.0  # seconds; the machine may be busy


class Recorder(Precomputed):
    """Precomputed results that record which keys are read."""

    def __init__(self, read: Callable[[Iterable[str]], dict[str, bytes]]) -> None:
        """Take a function that returns the values of existing keys as bytes."""
        super().__init__(Path())
        self._read = read
        self.values: dict[str, bytes] = {}
        self.missing: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return bool(self._read([key]))

    def get_many(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Read as `Precomputed.get_many` does, and record the keys."""
        wanted = list(keys)
        values = self._read(wanted)
        self.values |= values
        self.missing |= {key for key in wanted if key not in values}
        return values


@dataclass(frozen=True)
class Walk:
    """The outcome of all requests.

    Attributes:
        values: Bytes of the existing keys.
        missing: Keys that were read and do not exist.
        unanswered: Names of the requests that failed for lack of them.
        results: Results by request.
    """

    values: dict[str, bytes]
    missing: set[str]
    unanswered: tuple[str, ...]
    results: dict[str, Any]


def requests() -> dict[str, tuple[str, Any]]:
    """List every precomputed result by name, with the command and the spec that ask for it."""
    views: list[tuple[str, Any]] = [
        ("rsa", RsaSpec()),
        ("rsa", RsaSpec(grid=True)),
        ("rsa", RsaSpec(against_genres=OTHER_GENRES)),
        ("tokens", TokenMapSpec((RsaSpec().base, *RsaSpec().compare))),
        ("probe", ProbeSpec()),
        ("probe", ProbeSpec(untrained=False, sweep=True)),
        *(
            ("sentence", SentenceSpec(model, tuple(range(7)), text=SENTENCE_SHOWN))
            for model in ProbeSpec().probed
        ),
        ("weights", WeightsSpec()),
        ("weights", WeightsSpec(map="tsne")),
        ("weights", WeightsSpec(map="umap")),
        ("align", STUDIES["align"].Spec()),
        *_experiments(),
        ("probe edges", STUDIES["probe edges"].Spec(conditional=True)),
        ("align", STUDIES["align"].Spec(methods=QUICK, split="sentence")),
        *(("align barrier", spec) for spec in JOINED),
        ("lens", STUDIES["lens"].Spec(**CLASSIFIERS)),
    ]
    views += [study for example in EXAMPLES for study in example.studies]
    commands = [command for command in STUDIES if command not in ON_REQUEST]
    views += [(command, STUDIES[command].Spec()) for command in commands]  # commands as such
    return {name_of(command, spec): (command, spec) for command, spec in views}


def _experiments() -> list[tuple[str, Spec]]:
    """List the experiments as their pages offer them: on the page's text and models."""
    rsa, probe, align = RsaSpec(), ProbeSpec(), STUDIES["align"].Spec()
    asked: dict[str, dict[str, Any]] = {
        "spaces": {"sentences": rsa.sentences, "words": rsa.words},
        "training": {"sentences": rsa.sentences, "words": rsa.words, "measure": rsa.measure},
        "swap": {"sentences": rsa.sentences, "base": rsa.base, "compare": rsa.compare},
        "divergence": {"sentences": rsa.sentences, "words": rsa.words, "base": rsa.base},
        "lens": {},
        "bits": {"sentences": rsa.sentences},
        "truth": {},
        "audit": {},
        "probe edges": {
            name: getattr(probe, name)
            for name in ("models", "sentences", "heads", "untrained", "draws")
        },
        "probe polar": {
            name: getattr(probe, name)
            for name in ("models", "rank", "sentences", "heads", "seeds", "untrained", "draws")
        },
        "probe training": {
            name: getattr(probe, name) for name in ("rank", "sentences", "heads", "seeds", "draws")
        },
        "probe behaviour": {"sentences": probe.sentences, "draws": probe.draws},
        "probe removal": {
            name: getattr(probe, name) for name in ("models", "sentences", "heads", "draws")
        },
        "weights intruders": {},
        "weights lineage": {},
        "weights arithmetic": {},
        "align check": {
            "sentences": align.sentences,
            "model": align.models[0],
            "split": align.split,
        },
        "align rotation": {name: getattr(align, name) for name in ("sentences", "models", "split")},
        "align stitch": {"sentences": align.sentences},
        "align barrier": {},
        "align attention": {"sentences": align.sentences, "models": align.models},
        "align protocol": {"sentences": align.sentences, "models": align.models},
    }
    return [(command, STUDIES[command].Spec(**values)) for command, values in asked.items()]


def name_of(command: str, spec: Any) -> str:
    """Name a request by its command and non-default options."""
    changed = spec.changed() if isinstance(spec, Spec) else {"model": spec.model}
    return " ".join([command, *(f"{name}={value}" for name, value in changed.items())])


def _run(command: str, spec: Any, **options: Any) -> Any:
    if command == "sentence":
        return run_sentences(spec, **options)
    return STUDIES[command].run(spec, **options)


def walk(read: Callable[[Iterable[str]], dict[str, bytes]]) -> Walk:
    """Make every request from an empty store over `read`, without computing any task."""
    recorder, results, unanswered = Recorder(read), dict[str, Any](), []
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        store = runs_store.Store(Path(folder), precomputed=recorder)
        for name, asked in requests().items():
            try:
                with runs_store.using(store):
                    results[name] = _run(
                        *asked, store=store, signal=Signal(look_only=True, patience=PATIENCE)
                    )
            except NotStoredError:
                unanswered.append(name)
    return Walk(recorder.values, recorder.missing, tuple(unanswered), results)


def make(say: Callable[[str], None]) -> Path:
    """Compute what neither store nor file has, write precomputed results and cards, and return the
    file. Other processors' results differ in the last digits, and stay; all is computed anew where
    no file is to be used. Raises NotStoredError if a result could not be kept."""
    store = runs_store.default_store()
    asked = requests()
    for number, (name, study) in enumerate(asked.items(), start=1):
        say(f"{number} of {len(asked)}: {name}")
        with runs_store.using(store):
            _run(*study, store=store)
    say("reading all results back")
    walked = walk(
        lambda keys: {key: runs_store.encode(value) for key, value in store.get_many(keys).items()}
    )
    if walked.missing or walked.unanswered:
        raise NotStoredError(
            f"The store could not keep all results ({', '.join(walked.unanswered)}). "
            "Increase its size limit and try again."
        )
    path = (default_precomputed() or included_precomputed()).path
    write_precomputed(path, walked.values)
    with runs_store.using(store):
        path.with_name(CARDS).write_text(
            cards_text(walked.results, Precomputed(path)), encoding="utf8"
        )
    return path


def make_cards() -> Path:
    """Write the cards of the examples from the precomputed results; return the file. Raises
    NotStoredError if one is missing."""
    precomputed = default_precomputed()
    walked = walk(precomputed.get_many) if precomputed is not None else None
    if precomputed is None or walked is None or walked.missing or walked.unanswered:
        raise NotStoredError(
            f"Some precomputed results are missing. Make them with `{COMMAND} zoo precompute`."
        )
    path = precomputed.path.with_name(CARDS)
    path.write_text(cards_text(walked.results, precomputed), encoding="utf8")
    return path


def cards_text(results: dict[str, Any], precomputed: Precomputed) -> str:
    """Write the examples' findings as JSON, with a hash of the keys that they depend on."""
    findings = {
        example.name: asdict(
            example.find([results[name_of(command, spec)] for command, spec in example.studies])
        )
        for example in (STORY, *EXAMPLES)
    }
    return (
        json.dumps({"answers": mark(precomputed), "cards": findings}, indent=1, ensure_ascii=False)
        + "\n"
    )


def mark(precomputed: Precomputed) -> str:
    """Hash all keys with sha256."""
    return hashlib.sha256("\n".join(precomputed.keys()).encode()).hexdigest()


def read_cards() -> dict[str, dict[str, Any]]:
    """Read the findings by example; none if the file is missing, damaged or outdated."""
    precomputed = default_precomputed()
    if precomputed is None:
        return {}
    try:
        path = precomputed.path.with_name(CARDS)
        content = _cards(path)
        return dict(content["cards"]) if content["answers"] == mark(precomputed) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


@remembered(8, state=file_state)
def _cards(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf8")))
