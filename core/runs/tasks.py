"""Tasks: pure functions with plain arguments, and their execution.

A task's key is made of the identity that is written down at its function (`@pure("rsa.compare",
version=3)`), with the version that its author raises when the mathematics changes, and its
arguments; what is stored under that key is not computed again, wherever the function moves. Inside
a task, `core.maths.progress.tick` reports progress, and a cancelled one ends."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

from core.errors import CancelledError, PalimpsestError
from core.maths.progress import LISTENER, SavedState, span
from core.runs.price import Cost
from core.runs.process.imports import import_tangled
from core.runs.states import StoredState
from core.runs.store import Store, current_store, default_store, encode, identified, key_of, using

_IDENTITIES: dict[str, str] = {}  # written identity -> the function that has it
_MARK, _GUARD = "__palimpsest_identity__", "__palimpsest_guard__"
_COST, _EXPECT = "__palimpsest_cost__", "__palimpsest_expect__"
MEMORY_SHORT = "the memory is not enough; use fewer sentences or a smaller model."
IDENTITY = "identity"  # ending of arguments that identify a model or a parser

Function = TypeVar("Function", bound=Callable[..., Any])
Guard = Callable[[Mapping[str, Any]], contextlib.AbstractContextManager[None]]
Elsewhere = Callable[["Task", Store], bool]  # computes a task into a store, or does not


def pure(
    identity: str,
    *,
    version: int = 1,
    guard: Guard | None = None,
    cost: Callable[..., Cost] | None = None,
    expect: Callable[..., Any] | None = None,
) -> Callable[[Function], Function]:
    """Declare a module-level function as a task's; its output depends on arguments and version.

    Args:
        identity: Such as "rsa.compare"; part of the key, which never changes, wherever the function
            lives.
        version: Raised when the same arguments give other numbers.
        guard: Entered with the arguments while a task computes: raises where its value would belong
            under another key.
        cost: Sizes of models by reference, arguments by name -> what a task takes.
        expect: The same -> what stands for its value where a study is priced.

    Raises:
        TypeError: If the function is not one of a module, or another one has the identity.
    """

    def declare(function: Function) -> Function:
        name = function.__qualname__
        place = f"{function.__module__}.{name}"
        if "<" in name:
            raise TypeError(f"{name} is not a module-level function, and a task needs one")
        if _IDENTITIES.setdefault(identity, place) != place:
            raise TypeError(f"{place} and {_IDENTITIES[identity]} have one identity, {identity!r}")
        values = ((identity, version), guard, cost, expect)
        for mark, value in zip((_MARK, _GUARD, _COST, _EXPECT), values, strict=True):
            setattr(function, mark, value)
        return function

    return declare


@dataclass(frozen=True)
class Task:
    """One pure, module-level function with its arguments.

    Attributes:
        name: What a reader sees ("seed-0: rsa").
        function: Declared with `@pure`.
        arguments: Pairs of name and plain value (str, bytes, int, float, bool, None and tuples of
            them), or a frozen dataclass of such values: a settings object.
        role: What its output is for the study, such as ("model", "zoo:parse-0"); the name where
            none is given.
        group: Says which tasks share a model and should stay together.
        fleeting: Whether the output is not stored, as of reading a file, whose content is not known
            before: the task always runs, in this process, and may return any object.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[tuple[str, Hashable], ...] = ()
    role: Hashable = None
    group: str = ""
    fleeting: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.function, _MARK):
            name = self.function.__qualname__
            raise TypeError(f"{name} is not declared with @pure, and a task needs that")
        if self.role is None:
            object.__setattr__(self, "role", self.name)

    @classmethod
    def of(
        cls,
        name: str,
        function: Callable[..., Any],
        *,
        role: Hashable = None,
        group: str = "",
        fleeting: bool = False,
        **arguments: Any,
    ) -> Task:
        """Make a task from arguments by name; their order does not matter, lists become tuples."""
        plain = tuple((key, _frozen(arguments[key])) for key in sorted(arguments))
        return cls(name, function, plain, role, group, fleeting)

    @cached_property
    def values(self) -> dict[str, Any]:
        """Plain values by name; a settings object stands for its fields."""
        return _unfolded(dict(self.arguments))

    @property
    def is_priced(self) -> bool:
        """Whether its function declares what it costs."""
        return getattr(self.function, _COST) is not None

    @cached_property
    def key(self) -> str:
        """The sha256 of the function's identity and version and of the values; of a fleeting task,
        whose arguments may be any object, of its role. Raises TypeError if an argument is not a
        plain value, ValueError if one whose name ends in "identity" is empty.
        """
        if self.fleeting:
            return key_of("fleeting", repr(self.role))
        for name, value in self.values.items():
            if name.endswith(IDENTITY):
                identified(value)
        return key_for(self.function, **dict(self.arguments))

    def compute(self) -> Any:
        """Call the function under its guard."""
        if not self.fleeting:  # reading and identifying enter no such package
            import_tangled()
        with contextlib.ExitStack() as stack:
            if guard := getattr(self.function, _GUARD):
                with span(0.0, 0.0):  # what it reads is no part of the work
                    stack.enter_context(guard(self.values))
            return self.function(**dict(self.arguments))

    def cost(self, sizes: Mapping[str, Any]) -> Cost:
        """Estimate what the task takes, from the sizes of models by reference."""
        return cast("Cost", self._by_size(_COST, sizes))

    def expected(self, sizes: Mapping[str, Any]) -> Any:
        """Return what stands for the value where only sizes are known; raises as `cost`."""
        return self._by_size(_EXPECT, sizes)

    def _by_size(self, mark: str, sizes: Mapping[str, Any]) -> Any:
        declared = getattr(self.function, mark)
        if declared is None:
            raise TypeError(f"{self.function.__qualname__} has no `{mark[13:-2]}=` in its @pure")
        return declared(sizes, **dict(self.arguments))


@pure("given", expect=lambda sizes, value: value)
def _hand_on(value: Any) -> Any:
    return value


def given_task(role: Hashable, value: Any) -> Task:
    """Make a task of the first stage that returns what is given."""
    return Task.of(str(role), _hand_on, role=role, fleeting=True, value=value)


def key_for(function: Callable[..., Any], **arguments: Any) -> str:
    """Make the key of a function's output for these arguments."""
    return key_of("task", *getattr(function, _MARK), sorted(_unfolded(arguments).items()))


@dataclass(frozen=True)
class Outcome:
    """A task's outcome: a value (bytes, from another process), a failure, or neither if cancelled;
    `error` is the failure as it was raised, in the process that started the run."""

    value: Any = None
    stored: bool = False
    failure: str = ""
    error: PalimpsestError | None = None


class Signal(threading.Event):
    """Requests to a run from outside; `set()` cancels it at the next tick of its tasks.

    Attributes:
        give_way: Set it to stop the run between tasks; those that have begun are finished and kept.
        look_only: Whether the run is to bring only what is stored: it ends where something would be
            computed.
        patience: Seconds that a first stage may then take.
    """

    def __init__(self, look_only: bool = False, patience: float = 10.0) -> None:
        super().__init__()
        self.give_way = threading.Event()
        self.look_only = look_only
        self.patience = patience


@dataclass
class Ledger:
    """The state of one run for its tasks in this process: store, progress, cancellation."""

    identifier: str
    store: Store
    signal: Signal
    stop: threading.Event = field(default_factory=threading.Event)
    pid: int = field(default_factory=os.getpid)
    fractions: dict[str, float] = field(default_factory=dict)  # by task key
    note: str = ""

    def stopped(self) -> bool:
        """Whether the user cancelled, or the run ended without waiting for this task."""
        return self.stop.is_set() or self.signal.is_set()


@dataclass(frozen=True)
class _Place:
    """The position of the current code in its run, which `tick` uses."""

    identifier: str
    ledger: Ledger | None
    task: Task
    low: float = 0.0
    high: float = 1.0
    # keys, in the order in which the task asked for them, and of what its value is made of
    checkpoints: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def tick(self, fraction: float, note: str = "") -> None:
        """Report the task's progress.

        Raises:
            CancelledError: If the run was cancelled.
        """
        if self.ledger is not None:
            part = self.low + (self.high - self.low) * min(max(fraction, 0.0), 1.0)
            self.ledger.fractions[self.task.key] = part
            # what another run is doing says more than that this one waits for it
            if not (note.startswith(WAITING) and self.ledger.note):
                self.ledger.note = f"{self.task.name}: {note}" if note else self.task.name
        self.check()

    def part(self, low: float, high: float) -> _Place:
        """Return the place of a part of the task."""
        width = self.high - self.low
        return replace(self, low=self.low + width * low, high=self.low + width * high)

    def checkpoint(self, form: str) -> SavedState:
        """Return the place of the task's next state in the store, whose content and version `form`
        names; of a fleeting task, nowhere."""
        if self.task.fleeting:
            return SavedState()
        self.checkpoints.append(key_of("checkpoint", self.task.key, len(self.checkpoints), form))
        return StoredState(current_store(), self.checkpoints[-1])

    def check(self) -> None:
        """Raise if the run was cancelled."""
        if self.ledger.stopped() if self.ledger else self.identifier in _STOPPED:
            raise CancelledError("The run was cancelled; what was computed so far is kept.")


WAITING = "waiting"  # how a note begins that only says that another run is at work
_LEDGERS: dict[str, Ledger] = {}  # the runs that this process started
_STOPPED: deque[str] = deque(maxlen=1000)  # runs of other processes that were cancelled


def drop_with_value(keys: Iterable[str]) -> None:
    """Remove these keys when the current task has its value; keep them outside a run."""
    place = LISTENER.get()
    if isinstance(place, _Place):
        place.pieces.extend(keys)


def perform(task: Task, identifier: str, elsewhere: Elsewhere | None = None) -> Outcome:
    """Run one task of the run `identifier` in this thread or process.

    In the process that started the run the caller's store is used, into which `elsewhere` may have
    computed the value; in any other one that process's own, and the value returns as safetensors
    bytes. A PalimpsestError becomes a failure; any other error is a bug and is raised.
    """
    ledger = _LEDGERS.get(identifier)
    if ledger is not None and ledger.pid != os.getpid():
        ledger = None  # a forked child: it has the parent's ledger, but nobody reads it here
    place = _Place(identifier, ledger, task)
    token = LISTENER.set(place)
    try:
        place.check()
        with using(ledger.store if ledger else default_store()) as store:
            if task.fleeting:
                return Outcome(task.compute())
            there = elsewhere is not None and elsewhere(task, store)
            value, stored = store.get_or_compute(task.key, task.compute)
            store.drop([*place.checkpoints, *place.pieces])
        return Outcome(value if ledger else encode(value), stored and not there)
    except CancelledError:
        return Outcome()
    except PalimpsestError as error:
        return Outcome(failure=str(error), error=error if ledger else None)
    except MemoryError:
        return Outcome(failure=MEMORY_SHORT)
    finally:
        LISTENER.reset(token)


@contextlib.contextmanager
def opened_ledger(ledger: Ledger) -> Iterator[Ledger]:
    """Make a run known to its tasks inside the block, and stop them at its end."""
    _LEDGERS[ledger.identifier] = ledger
    try:
        yield ledger
    finally:
        ledger.stop.set()
        del _LEDGERS[ledger.identifier]


def stop_here(identifier: str) -> None:
    """End all tasks of a run in this worker process at their next tick."""
    _STOPPED.append(identifier)


def _unfolded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        folded = is_dataclass(value) and not isinstance(value, type)
        parts = [part.name for part in fields(value)] if folded else []
        values |= {part: getattr(value, part) for part in parts} if folded else {name: value}
    return values


def _frozen(value: Any) -> Any:
    with contextlib.suppress(TypeError):
        hash(value)  # holds no list; a text has thousands of words
        return value
    if not isinstance(value, (list, tuple)):
        return value
    return tuple(_frozen(item) if isinstance(item, (list, tuple)) else item for item in value)
