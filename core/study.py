"""What every study declares, and how one is run from beginning to end.

A study's folder ends in one `Study`: its spec, its stages, its figures and its price. The command
line, the pages, the precomputed results and the tests go over all of them in `core.catalogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.runs.runner import Outputs, Task, run, run_here
from core.vectors.quantisation import with_quantisation
from core.vectors.sinks import with_sinks
from core.vectors.vocabulary import unknown_word_tasks, with_unknown_words

if TYPE_CHECKING:
    from core.results.export import Result
    from core.runs.price import Price


def read_first(tasks: Sequence[Task], **options: Any) -> Outputs:
    """Run a study's first stage, and ask which words of its texts the models' tokenizers do not
    have."""
    ready = run_here(tasks, **options)
    return ready.with_more(run_here(unknown_word_tasks(ready), **options))


def run_tasks(spec: Any, tasks: Sequence[Task], **options: Any) -> Outputs:
    """Run what was planned, as most studies do."""
    return run(tasks, **options)


def as_collected(spec: Any, ready: Outputs, result: Any, **options: Any) -> Any:
    """Leave the result as `collect` made it, as most studies do."""
    return result


def no_files(result: Result) -> dict[str, bytes]:
    """Write no file beside tables and figures, as most studies do."""
    return {}


@dataclass(frozen=True)
class Study:
    """One study: a spec, three stages that lead from it to a result, and what is drawn of that.

    Attributes:
        name: The words of its command, such as "align check".
        title: What the pages call it.
        purpose: What it tells, in the words of the command's help.
        Spec: Its options; `core.options.Spec` checks them.
        prepare: spec, texts that came with the request -> tasks of the first stage, which read, ask
            and download.
        plan: spec, outputs of the first stage -> tasks; cheap.
        collect: spec, outputs of both stages -> the result.
        figures: Result, what they are drawn for (a page without it) -> charts by file name, the
            main one first.
        price: spec -> what it will cost; nothing is fetched for it but the sizes of models.
        perform: spec, planned tasks, options of a run -> their outputs.
        finish: spec, outputs of the first stage, result, options of a run -> the result with what
            is computed from it in further tasks.
        files: Result -> files beside tables and figures, by name.
        caveats: What would mislead a reader: the point -> its explanation, with *emphasis* and
            `code` as in Markdown.
        formulas: What is computed: the words before a formula -> LaTeX.
        reason: Why one would run it, in one sentence.
        how_to_read: What a figure's axes are, what its ends mean and what is grey, in one line
            each: the name of a figure -> the line.
    """

    name: str
    title: str
    purpose: str
    Spec: type[Any]
    prepare: Callable[[Any, Mapping[str, Any] | None], Sequence[Task]]
    plan: Callable[[Any, Outputs], Sequence[Task]]
    collect: Callable[[Any, Outputs, Outputs], Any]
    figures: Callable[..., dict[str, Any]]
    price: Callable[[Any], Price]
    perform: Callable[..., Outputs] = run_tasks
    finish: Callable[..., Any] = as_collected
    files: Callable[[Any], dict[str, bytes]] = no_files
    caveats: Mapping[str, str] = field(default_factory=dict, hash=False)
    formulas: Mapping[str, str] = field(default_factory=dict, hash=False)
    reason: str = ""
    how_to_read: Mapping[str, str] = field(default_factory=dict, hash=False)

    def run(self, spec: Any, texts: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Prepare, plan, run and collect.

        Args:
            spec: What is asked for.
            texts: What came with the request (uploads), by the name that the spec has for it.
            options: For `core.runs.runner.run`: store, executor, progress, signal.

        Returns:
            A `Result`.

        Raises:
            PalimpsestError: If the study cannot go on: its base is not to be had, a text cannot be
                read.
            CancelledError: If it was cancelled; what was computed until then is kept.
        """
        ready = read_first(self.prepare(spec, texts), **options)
        outputs = self.perform(spec, self.plan(spec, ready), **options)
        result = with_unknown_words(self.collect(spec, ready, outputs), ready)
        result = with_quantisation(with_sinks(result, ready, outputs), spec)
        return self.finish(spec, ready, result, **options)
