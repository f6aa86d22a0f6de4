"""What every study declares, and how one is run from beginning to end.

A study's folder ends in one `Study`: its words, spec, stages, figures and price. The command line,
the pages, the precomputed results and the tests go over all of them in `core.catalogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

import core.models.costs as costs
import core.results.drawing.panels as panels
from core.results.differences import ComparedTable
from core.results.drawing.context import PAGE, Context
from core.results.drawing.printing import Drawing
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.results.findings import Findings, in_two_lines
from core.results.words import Words
from core.runs.price import Cost, Price
from core.runs.runner import Outputs, Task, run, run_here
from core.text.reading import prepare_named
from core.vectors.model_files import with_model_files
from core.vectors.sinks import with_sinks
from core.vectors.vocabulary import unknown_word_tasks, with_unknown_words


def run_first_stage(tasks: Sequence[Task], **options: Any) -> Outputs:
    """Run a first stage, then look up words that the models' tokenizers do not know."""
    ready = run_here(tasks, **options)
    return ready.with_more(run_here(unknown_word_tasks(ready), **options))


def completed(
    findings: Findings, name: str, spec: Any, ready: Outputs, outputs: Outputs, **of_study: Any
) -> Result:
    """Make a result of what was found, with notices of words, sinks and files.

    Args:
        findings: Of `collect`.
        name: Of the study.
        spec: What was asked for.
        ready: Outputs of the first stage.
        outputs: Of the planned tasks.
        of_study: What a study declares of its results, see `Findings.result`.
    """
    result = findings.result(name, spec, ready, outputs, **of_study)
    result = with_sinks(with_unknown_words(result, ready), ready, outputs)
    return with_model_files(result, spec, ready, outputs)


def expected_tasks(study: Study, spec: Any, sizes: costs.Sizes) -> list[Task]:
    """Plan a study from the sizes of its models and texts in place of their contents.

    Args:
        study: The study.
        spec: What is asked for.
        sizes: Of models; those that the first stage asks for are added.

    Returns:
        The tasks that the study would run; in place of contents, their arguments hold references
        of models and texts that are counted only.

    Raises:
        PalimpsestError: As `plan`.
    """
    return [*study.plan(spec, costs.expected_outputs(study.prepare(spec, None), sizes))]


@dataclass(frozen=True)
class View:
    """One view of a study's result: a figure, with the sentence above it and the tables below.

    Its functions take a result and what a reader chose on the page (a metric, a model); without
    choices they return what the page shows first.

    Attributes:
        key: Of its words among the study's; empty for an only view, which has the study's own.
        draw: Result, choices, what it is drawn for -> charts by file name, or `Panels` of which
            several are one figure; none where the numbers are missing.
        choices: Result -> the choices whose figures files hold, the main one first; where the
            headline is a null result, the one that shows the comparison.
        headline: Result, choices -> the sentence above the figure, or several, as many of them as
            two lines hold; the study's where there are none.
        tables: Result, choices -> the tables below the figure, or the rows shown, by name; None
            for `table`, or for all tables where that is empty.
        first: Result, choices -> the same result with what a page draws at first alone: what is
            asked about, its best rival, its ceiling or chance. The result itself where that is
            all; None for all.
        table: The table that CSV and Parquet files hold; empty for the study's main one.
        asked: What a page asks for, such as "Metric", where `titles` names choices.
        titles: The choices that a page offers where `choices` has them, with what it calls them.
        name, purpose, how_to_read, missing, question: Its words, see `ViewWords`; taken from the
            study's.
    """

    key: str = ""
    draw: Callable[..., panels.Figures] = lambda result, *choices, context: {}
    choices: Callable[[Result], Iterable[tuple[object, ...]]] = lambda result: [()]
    headline: Callable[..., str | Iterable[str]] = lambda result, *choices: ""
    tables: Callable[..., Mapping[str, pd.DataFrame]] | None = None
    first: Callable[..., Any] | None = None
    table: str = ""
    asked: str = ""
    titles: Mapping[str, str] = field(default_factory=dict, hash=False)
    name: str = ""
    purpose: str = ""
    how_to_read: str = ""
    missing: str = ""
    question: str = ""

    def of_study(self, study: Study) -> View:
        """Take this view's words from a study."""
        return replace(self, **vars(study.words.view(self.key)))

    def offered(self, result: Result) -> dict[str, str]:
        """Return the choices that a page offers of a result, with what it calls them."""
        drawn = [*self.choices(result)] if self.titles else []
        return {choice: title for choice, title in self.titles.items() if (choice,) in drawn}

    def opening(self, result: Result) -> str:
        """Return what a page shows first of what it offers: the first of `choices`, so that a null
        result opens at the comparison that it is about."""
        offered = self.offered(result)
        return next(str(choice) for choice, *_ in self.choices(result) if choice in offered)

    def rows(self, result: Result, *choices: object) -> Mapping[str, pd.DataFrame]:
        """Return the tables below the figure, or the rows that are shown, by name."""
        if self.tables is not None:
            return self.tables(result, *choices)
        if not self.table:
            return result.tables
        return {name: table for name, table in result.tables.items() if name == self.table}

    def sentence(self, result: Result, *choices: object) -> str:
        """Return what stands above the figure; "" for the study's sentence, which also stands above
        every view where it is a caution alone."""
        alone = result.caution and not result.headline
        return "" if alone else in_two_lines(self.headline(result, *choices))

    def leaves_out(self, result: Result, *choices: object) -> bool:
        """Whether a page draws some of the result's lines at first."""
        return self.first is not None and self.first(result, *choices) is not result

    def drawing(self, result: Result, *choices: object, first: bool = False) -> Drawing:
        """Return the function that draws a result for a page, a lecture hall or a paper.

        Args:
            result: What the study returned.
            choices: What a reader chose.
            first: Draw what a page draws at first alone, on an axis that reaches as far.
        """

        def draw_for(*, context: Context) -> panels.Drawn:
            shown = result
            if first and self.first is not None and not result.table.empty:
                shown, context = self.first(result, *choices), replace(context, zoomed=True)
            figures = self._figures_for(shown, *choices, context=context)
            return figures if isinstance(figures, panels.Panels) else [*figures.values()]

        return draw_for

    def figures(self, result: Result, context: Context = PAGE) -> dict[str, Chart]:
        """Draw the figures that files hold, by file name."""
        charts: dict[str, Chart] = {}
        for choices in () if result.table.empty else self.choices(result):
            figures = self._figures_for(result, *choices, context=context)
            charts |= figures.by_name(context) if isinstance(figures, panels.Panels) else figures
        return charts

    def _figures_for(self, result: Result, *choices: object, context: Context) -> panels.Figures:
        return {} if result.table.empty else self.draw(result, *choices, context=context)


@dataclass(frozen=True)
class Study:
    """One study: a spec, three stages that lead from it to a result, and what is drawn of that.

    Attributes:
        name: The words of its command, such as "align check".
        words: Its title, purpose, caveats, formulas and what else it says alike of every result.
        Spec: Its options; `core.options.Spec` checks them.
        plan: spec, outputs of the first stage -> tasks; cheap.
        collect: spec, outputs of both stages -> what was found.
        prepare: spec, texts that came with the request -> tasks of the first stage, which read, ask
            and download.
        perform: spec, planned tasks, options of a run -> their outputs.
        finish: spec, outputs of the first stage, result, options of a run -> the result with what
            is computed from it in further tasks.
        collect_costs: spec, planned tasks, sizes of models -> costs of what `collect` and `finish`
            compute, where that takes long.
        files: Result -> files beside tables and figures, by name.
        cites: Keys of the papers that every result cites.
        kind: The class of its results.
        views: How pages and files show a result, the first one at first.
        compared: What is compared of two results; None where a page shows no two side by side.
        light: Whether its precomputed result at default options opens without importing what
            `import_tangled` does; a test holds it to that.
    """

    name: str
    words: Words
    Spec: type[Any]
    plan: Callable[[Any, Outputs], Sequence[Task]]
    collect: Callable[[Any, Outputs, Outputs], Findings]
    prepare: Callable[[Any, Mapping[str, Any] | None], Sequence[Task]] = prepare_named
    perform: Callable[..., Outputs] = lambda spec, tasks, **options: run(tasks, **options)
    finish: Callable[..., Any] = lambda spec, ready, result, **options: result
    collect_costs: Callable[..., Sequence[Cost]] = lambda spec, tasks, sizes: ()
    files: Callable[[Any], dict[str, bytes]] = lambda result: {}
    cites: Iterable[str] = ()
    kind: type[Result] = Result
    views: tuple[View, ...] = (View(),)
    compared: ComparedTable | None = None
    light: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "views", tuple(view.of_study(self) for view in self.views))

    @property
    def title(self) -> str:
        """What the pages call it."""
        return self.words.title

    @property
    def purpose(self) -> str:
        """What it tells, in the words of the command's help."""
        return self.words.purpose

    @property
    def caveats(self) -> Mapping[str, str]:
        """What would mislead a reader: the point -> its explanation."""
        return self.words.caveats

    def figures(self, result: Result, context: Context = PAGE) -> dict[str, Chart]:
        """Draw the figures of all views, by file name, the main one first.

        Args:
            result: Of this study.
            context: What they are drawn for.
        """
        return {
            name: chart
            for view in self.views
            for name, chart in view.figures(result, context).items()
        }

    def price(self, spec: Any) -> Price:
        """Price a run as the sum of what the tasks that it would plan cost. Nothing is fetched for
        it but the sizes of models. Raises PalimpsestError as `expected_tasks` does."""
        sizes = costs.Sizes()
        tasks = expected_tasks(self, spec, sizes)
        return costs.price_tasks(tasks, sizes, *self.collect_costs(spec, tasks, sizes))

    def run(self, spec: Any, texts: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Prepare, plan, run and collect.

        Args:
            spec: What is asked for.
            texts: What came with the request (uploads), by the name that the spec has for it.
            options: For `core.runs.runner.run`: store, executor, progress, signal.

        Returns:
            A `Result`.

        Raises:
            PalimpsestError: If the study cannot go on: its base cannot be found, a text cannot be
                read.
            CancelledError: If it was cancelled; what was computed until then is kept.
        """
        import core.results.shelf.archive as shelf

        shipped = None if texts else shelf.shelved(self.name, spec, self.kind)
        if shipped is not None and shelf.is_wanted(options):
            return shipped
        ready = run_first_stage(self.prepare(spec, texts), **options)
        planned = self.plan(spec, ready)
        outputs = self.perform(spec, planned, expected=costs.expected_costs, **options)
        result = self.finish(spec, ready, self.result(spec, ready, outputs), **options)
        return result if shipped is None else shelf.compared(result, shipped)

    def result(self, spec: Any, ready: Outputs, outputs: Outputs) -> Result:
        """Collect what was found and add what every result needs: failures, versions, fingerprints,
        settings, papers, and notices of words, sinks and files.

        Args:
            spec: What was asked for.
            ready: Outputs of the first stage.
            outputs: Of the planned tasks.
        """
        findings = self.collect(spec, ready, outputs)
        declared = {"kind": self.kind, "cites": self.cites, "nothing": self.words.nothing}
        return completed(findings, self.name, spec, ready, outputs, **declared)
