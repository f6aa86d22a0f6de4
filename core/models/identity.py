"""Say what models are known by, in tasks of a study's first stage, because the Hub may be asked.

`identify` is the one answer: keys of tasks, the guard of a task, copies and the files beside a
result are made from what it returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

from core.errors import ModelError, PalimpsestError, counted
from core.models.describing import describe, tokenizer_fingerprint
from core.models.files.adapters import adapter_fingerprint
from core.models.hub import client as hub
from core.models.hub.listing import known_by
from core.models.loading.model import load_tokenizer
from core.models.precision import HALF, SINGLE, VARIABLE, precision_of
from core.models.references import ModelRef, parse_ref
from core.models.weights.origins import adapter_folder, base_of, folder_of
from core.runs.process.remembered import folder_state
from core.runs.runner import Outputs
from core.runs.store import current_store, key_of
from core.runs.tasks import IDENTITY, Task, pure

if TYPE_CHECKING:
    from core.models.sizes import Size


IDENTICAL, SAME_WEIGHTS = "identical", "has the same weights as"  # verdict on a copy, and sentence


@dataclass(frozen=True)
class Identity:
    """What a model is known by, and its shape.

    Attributes:
        content: For keys. Of a model that is run, the sha256 of weights with configuration and that
            of its tokenizer, between them the precision of its forward passes where that is half.
            Of one whose weights alone are read, the first of these, or the Hub's name and commit.
        weights: For copies: the same for the same weights, whatever their configuration says. The
            sha256 of each of their files, or `content` where nobody knows these without reading.
        layers: Blocks; hidden states are one more. As what follows, of a model that is run.
        d_model: Width of a hidden state.
        model_type: As the configuration says it, such as "roformer".
        parameters: Numbers in its weights.
        positions: Whether it adds positions to its vectors, not to attention alone.
    """

    ref: str
    content: str
    weights: str
    layers: int = 0
    d_model: int = 0
    model_type: str = ""
    parameters: int = 0
    positions: bool = True


def _expected(sizes: Mapping[str, Size], ref: str, run: bool = True) -> Identity:
    size = sizes[ref]
    shape = (size.layers, size.d_model, size.model_type, size.parameters, size.positions)
    return Identity(ref, ref, ref, *shape)


@pure("models.identify", expect=_expected)
def identify(ref: str, run: bool = True) -> Identity:
    """Identify the model that a reference names now; a Hub model is downloaded if it is to be run.
    Raises ModelError if it cannot be found, read or trusted; SpecError as `precision_of`."""
    parsed = parse_ref(ref)
    if not run:
        return Identity(ref, *_as_stored(parsed))
    info, precision = describe(parsed), precision_of(parsed)
    half = [precision] if precision != SINGLE else []
    return Identity(
        ref,
        " ".join([info.fingerprint, *half, tokenizer_fingerprint(parsed)]),
        info.weights,
        info.layers,
        info.d_model,
        info.model_type,
        info.parameters,
        info.positions,
    )


def _as_stored(ref: ModelRef) -> tuple[str, str]:
    """What weights are known by, and copies of them, without a download. An adapter in a folder is
    known by its base as well, if that can be found: compared with another base, it needs none."""
    if ref.kind == "hub":
        return known_by(ref)
    held = adapter_folder(ref) if ref.kind == "path" else None
    if held is None:
        info = describe(ref)
        return info.fingerprint, info.weights
    content = adapter_fingerprint(held)
    with suppress(ModelError):
        content = f"{content} {identify(base_of(ref), run=False).content}"
    return content, content


def content_at_hand(ref: str) -> str:
    """Say what changes in this process when a model does, for a page, which waits neither for the
    Hub nor until gigabytes are hashed; "" of one that cannot be read, as the study says."""
    try:
        parsed = parse_ref(ref)
        adapter = parsed.kind != "hub" and adapter_folder(parsed) is not None
        models = (parsed, parse_ref(base_of(parsed))) if adapter else (parsed,)
        return " ".join(map(_state_of, models))
    except (PalimpsestError, OSError):
        return ""


def _state_of(ref: ModelRef) -> str:
    """The state of a folder's files; of a model on the Hub, how often its commit has changed."""
    if ref.kind == "hub":
        return str(hub.changes(ref.name, ref.revision))
    return str(hash(folder_state(folder_of(ref))))


BEHAVIOUR, VERSION = "behaviour", 1  # of a tokenizer: part of roles, and of keys in the store


@pure("models.tokenizer_behaviour", expect=lambda sizes, ref, beside: "")
def tokenizer_behaviour(ref: str, beside: tuple[str, ...]) -> str:
    """Describe by a sha256 hex what a model's tokenizer makes of words, whatever its files say of
    padding and lengths; where those of all models `beside` are the same, it is not run.
    Raises ModelError if it cannot be read."""
    files = tokenizer_fingerprint(ref)
    if all(_has_tokenizer(model, files) for model in beside):
        return files

    def look() -> dict[str, str]:
        return {BEHAVIOUR: load_tokenizer(ref).behaviour}

    key = key_of(BEHAVIOUR, VERSION, files)
    return str(current_store().get_or_compute(key, look)[0][BEHAVIOUR])


def _has_tokenizer(ref: str, files: str) -> bool:
    try:
        return tokenizer_fingerprint(ref) == files
    except ModelError:
        return True  # the model's own task says why


def check_tokenizers(first: str, second: str, so: str) -> None:
    """Raise ModelError if two models do not read the same subwords, `so` that something cannot be
    done."""
    if tokenizer_behaviour(first, (second,)) != tokenizer_behaviour(second, (first,)):
        raise _unlike(first, second, so)


def _unlike(first: str, second: str, so: str) -> ModelError:
    return ModelError(
        f"{first} and {second} split words into different subwords, so {so}: choose models with "
        "the same tokenizer."
    )


def pairs_of_one_tokenizer(
    refs: Iterable[str], ready: Outputs, so: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Find the ordered pairs of identified models that read the same subwords, and say why others
    do not; raises ModelError if none do."""
    there = [ref for ref in contents(ready) if (BEHAVIOUR, ref) in ready.values]
    pairs = [*permutations([ref for ref in refs if ref in there], 2)]
    alike = [pair for pair in pairs if len({ready.values[BEHAVIOUR, ref] for ref in pair}) == 1]
    reasons = {frozenset(pair): _unlike(*pair, so) for pair in reversed(pairs) if pair not in alike}
    if pairs and not alike:
        raise [*reasons.values()][-1]
    return alike, [str(reason) for reason in reversed(reasons.values())]


@contextmanager
def as_identified(arguments: Mapping[str, Any], run: bool = True) -> Iterator[None]:
    """Guard a task: its models are those of its key, and keep their commit inside the block.
    `x_identity` is of the model `x`, `identity` of `model`, `identities` of `models`. Raises
    ModelError if one has changed."""
    with hub.pinned():
        for ref, asked in _asked_for(arguments):
            content = identify(ref, run).content
            if content != asked and _files(content) == _files(asked):
                raise ModelError(
                    f"{ref} is computed in another precision on this machine than where the "
                    f"study began: set {VARIABLE}={SINGLE} on both."
                )
            if content != asked:
                raise ModelError(f"{ref} has changed since this study began: run the study again.")
        yield


def _asked_for(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each model of a task's arguments, with what it is known by."""
    for name in arguments:
        if name.endswith(IDENTITY):
            yield arguments[name.removesuffix(IDENTITY).rstrip("_") or "model"], arguments[name]
    yield from zip(arguments.get("models", ()), arguments.get("identities", ()), strict=False)


def _files(content: str) -> list[str]:
    """Split a content into its fingerprints, without the precision."""
    return [part for part in content.split() if part != HALF]


def identity_tasks(refs: Iterable[str], tokenizers: bool = False, run: bool = True) -> list[Task]:
    """Make a task per distinct reference, with the role ("identity", reference); with `tokenizers`
    one more each, with the role (`BEHAVIOUR`, reference), for `pairs_of_one_tokenizer`."""
    distinct = tuple(dict.fromkeys(refs))
    tasks = [
        Task.of(ref, identify, role=("identity", ref), fleeting=True, ref=ref, run=run)
        for ref in distinct
    ]
    if tokenizers:
        tasks += [
            Task.of(
                f"tokenizer of {ref}",
                tokenizer_behaviour,
                role=(BEHAVIOUR, ref),
                fleeting=True,
                ref=ref,
                beside=distinct,
            )
            for ref in distinct
        ]
    return tasks


def identities(ready: Outputs) -> dict[str, Identity]:
    """Collect identities by reference; models not found are in its failures."""
    return {role[1]: value for role, value in ready.values.items() if isinstance(value, Identity)}


def depths(ready: Outputs) -> dict[str, int]:
    """Collect how many layers each model has that was found, by reference."""
    return {ref: identity.layers for ref, identity in identities(ready).items()}


def contents(ready: Outputs) -> dict[str, str]:
    """Collect the content of each model that was found, by reference."""
    return {ref: identity.content for ref, identity in identities(ready).items()}


def other_base(adapter: str, weights: str) -> str:
    """Find the base that an adapter names; "" if it has these weights, or cannot be read."""
    with suppress(ModelError):
        named = base_of(adapter)
        return named if identify(named, run=False).weights != weights else ""
    return ""


def find_copies(weights: Mapping[str, Hashable]) -> dict[str, str]:
    """Find the models that have the weights of an earlier one: that one, by the copy's reference.

    Example:
        >>> find_copies({"path:a": "1", "path:b": "2", "path:c": "1"})
        {'path:c': 'path:a'}
    """
    first: dict[Hashable, str] = {}
    pairs = {ref: first.setdefault(content, ref) for ref, content in weights.items()}
    return {ref: original for ref, original in pairs.items() if original != ref}


def describe_copies(copies: Mapping[str, str]) -> list[str]:
    """Say which models were left out as copies, of `find_copies`."""
    if not copies:
        return []
    pairs = "; ".join(f"{ref} {SAME_WEIGHTS} {original}" for ref, original in copies.items())
    were = counted(len(copies), "model was", "models were")
    return [f"{were} left out as copies, which are no further evidence: {pairs}."]
