"""A second process that computes tasks for a run of this one.

Python lets one thread run at a time, and two that make many small calls of torch hold each other
up: a study of the included models took a third longer than on two cores of their own. So one of a
run's two threads lets another process compute its tasks, into the same store. What does not arrive
there is computed here: a task that fails, one that needs what only this process knows (a measure
registered in a notebook), one whose process the system has ended.
"""

from __future__ import annotations

import base64
import functools
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import TaskError
from core.limits import UNLIMITED, current_limits
from core.maths.devices import choose_device
from core.maths.progress import tick
from core.runs.price import Cost
from core.runs.process.cores import TASKS_AT_ONCE, available_cores, limit_threads
from core.runs.process.isolation import ApartError, Patience
from core.runs.process.memory import free_memory, give_back_large_blocks
from core.runs.process.persistent import PersistentProcess

if TYPE_CHECKING:
    from core.runs.store import Store
    from core.runs.tasks import Task

WORTH = 20.0  # processor seconds of tasks from which the process is worth the seconds of its start
SHORT = 1.0  # processor seconds of a task that is quicker done than handed over
LARGE = 5e8  # bytes of a task from which it is asked whether the memory has room for two
ROOM = 4  # times a large task's bytes that must be free
REST = 300.0  # seconds without a task after which the process ends
ENDLESS = Patience(float("inf"), float("inf"))
LOOK_UP_SECONDS = 0.2
BYTES, RECORD = "bytes", "record"  # marks of arguments that JSON has no form for
SETTINGS = ("PALIMPSEST_", "HF_", "HOME", "XDG_")  # how variables begin that change what is read

Key = TypeVar("Key", bound=Hashable)
_process = PersistentProcess(__name__)
_using = threading.Lock()
_environment: dict[str, str] = {}  # with which the process was started


class LocalExecutor(ThreadPoolExecutor):
    """Two threads of this process, one of which uses the second process at a time."""

    def __init__(self) -> None:
        super().__init__(TASKS_AT_ONCE, thread_name_prefix="palimpsest")
        self._helped = frozenset[str]()

    def place(self, tasks: Sequence[Task], costs: Mapping[str, Cost]) -> None:
        """Choose which of the tasks to come the second process may compute."""
        keys = [task.key for task in tasks] if available_cores() > 1 else []
        self._helped = helps({key: costs[key] for key in keys if key in costs})

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit `core.runs.tasks.perform` with a task; see concurrent.futures.Executor."""
        if args and getattr(args[0], "key", None) in self._helped:
            kwargs["elsewhere"] = computes
        return super().submit(function, *args, **kwargs)


@contextmanager
def local_executor() -> Iterator[LocalExecutor]:
    """Open an executor on this machine."""
    limit_threads()
    give_back_large_blocks()
    executor = LocalExecutor()
    try:
        yield executor
    finally:
        # A run has waited for its tasks; one that was cancelled does not wait for one that never
        # ticks.
        executor.shutdown(wait=False, cancel_futures=True)


def helps(costs: Mapping[Key, Cost]) -> frozenset[Key]:
    """Choose the tasks, by key, that the second process may compute: none of a short run, or on a
    shared instance, whose memory has no room for two."""
    if sum(cost.seconds for cost in costs.values()) < WORTH or current_limits().shared:
        return frozenset()
    return frozenset(
        key
        for key, cost in costs.items()
        if cost.torch and cost.seconds >= SHORT and _fits(cost.memory)
    )


def _fits(memory: float) -> bool:
    """Whether a task of so many bytes may be computed beside another one."""
    return memory <= LARGE or ROOM * memory <= free_memory()


def computes(task: Task, store: Store) -> bool:
    """Let the second process compute a task into a store, unless it is at work for another thread;
    return whether it did. Raises CancelledError if the run is cancelled."""
    try:
        arguments = {name: to_plain(value) for name, value in task.arguments}
    except TypeError:  # a value that JSON has no form for
        return False
    if not _using.acquire(blocking=False):
        return False
    try:
        if not store.keeps or choose_device() != "cpu":
            return False
        settings = {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)}
        if _environment != settings:
            _process.close()
            _environment.clear()
            _environment.update(settings)
        request = {
            "task": {"name": task.name, "function": place_of(task.function), "key": task.key},
            "arguments": arguments,
            "store": [
                str(store.folder),
                store.size_limit,
                str(store.precomputed.path) if store.precomputed else "",
                "",
            ],
        }
        _process.ask(request, ENDLESS, "", memory=UNLIMITED, rest=REST, listen=_tell)
    except ApartError:
        return False
    finally:
        _using.release()
    return True


def _tell(reply: tuple[float, str] | None) -> None:
    """Report what the second process last said of its progress."""
    tick(*(reply or (0.0, "")))


def answer(request: dict[str, Any]) -> Iterator[tuple[float, str]]:
    """Compute a task in this process; yield how far it is. Raises TaskError if it has no
    value."""
    from core.runs.store import opened_store
    from core.runs.tasks import Ledger, Outcome, Signal, opened_ledger, perform

    limit_threads()
    store = opened_store(*request["store"])
    future = Future[Outcome]()
    with opened_ledger(Ledger(__name__, store, Signal())) as ledger:
        try:
            task = _task_of(request)
            work = functools.partial(_work, future, perform, task, ledger.identifier)
            threading.Thread(target=work, daemon=True).start()  # ends with the process
            while wait([future], LOOK_UP_SECONDS).not_done:
                note = ledger.note.removeprefix(task.name).removeprefix(": ")
                yield ledger.fractions.get(task.key, 0.0), note
            failure = future.result().failure
        except Exception as error:  # the task is computed again where it is wanted, and fails there
            raise TaskError(repr(error)) from error
    if failure:
        raise TaskError(failure)


def _task_of(request: dict[str, Any]) -> Task:
    """Make the task of a request. Raises TaskError if it would be another one here."""
    from core.runs.tasks import Task

    asked = request["task"]
    given = {name: from_plain(told) for name, told in request["arguments"].items()}
    task = Task(asked["name"], named(asked["function"]), tuple(given.items()))
    if task.key != asked["key"]:
        raise TaskError(f"{task.name} has another key here.")
    return task


def _work(future: Future[Any], function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function for whoever waits for the future."""
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)


def to_plain(value: Any) -> Any:
    """Write a task's argument, of JSON values, bytes, tuples and dataclasses, as what JSON can say.
    Raises TypeError for any other value.

    Example:
        >>> to_plain(("a", 1, (b"b",)))
        ['a', 1, [{'bytes': 'Yg=='}]]
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) is bytes:
        return {BYTES: base64.b64encode(value).decode()}
    if type(value) is tuple:
        return [to_plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        parts = {part.name: to_plain(getattr(value, part.name)) for part in fields(value)}
        return {RECORD: place_of(kind), "fields": parts}
    raise TypeError(f"a {type(value).__name__} is no plain value")


def from_plain(told: Any) -> Any:
    """Make what `to_plain` wrote; lists become tuples.

    Example:
        >>> from_plain(to_plain(("a", 1.5, (b"b", None))))
        ('a', 1.5, (b'b', None))
    """
    if isinstance(told, list):
        return tuple(map(from_plain, told))
    if not isinstance(told, dict):
        return told
    if BYTES in told:
        return base64.b64decode(told[BYTES])
    return named(told[RECORD])(**{name: from_plain(part) for name, part in told["fields"].items()})


def place_of(what: Callable[..., Any]) -> str:
    """Name a function or class of a module."""
    return f"{what.__module__}:{what.__qualname__}"


def named(place: str) -> Any:
    """Find what `place_of` named; raises ImportError or AttributeError if it is not there."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
