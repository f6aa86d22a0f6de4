"""An experiment, a study beside its page's main one: options and view."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from core.commands.study import refs_of
from core.options import Option, Spec, options_of

if TYPE_CHECKING:
    import pandas as pd

    from core.results.drawing.paper import Drawing
    from core.results.export import Result
    from core.study import Study
    from ui.frame.links import Address


@dataclass(frozen=True)
class Shown:
    """What an experiment's view shows of a result.

    Attributes:
        charts: Draws the charts.
        tables: The tables by name, or the rows of them that are shown.
        sentence: The headline; empty for the study's.
        view: What the charts depend on besides the result.
        below: Draws a control below the charts and returns the charts that it governs.
    """

    charts: Drawing
    tables: Mapping[str, pd.DataFrame]
    sentence: str = ""
    view: Hashable = None
    below: Callable[[], Shown] | None = None


@dataclass(frozen=True)
class Experiment:
    """A study beside its page's main one.

    Attributes:
        study: The study.
        own: Options with controls in the view: name in the address -> name of the option.
        shared: Options that the page's form also has, by the same name.
        taken: Options computed from another option of the page's form: name -> (the form's option,
            function).
        display: Options that change only how the result is shown.
        shown: Address and result -> what is shown; every figure and table if it is None.
        table: The table written as CSV and Parquet; empty for the main one.
        models: Spec -> the models that the study reads.
        problem: Spec of the page's study -> why the experiment cannot be run with it; "" if it can.
        looked_at: Options of the page's form that `problem` reads.
    """

    study: Study
    own: Mapping[str, str] = field(default_factory=dict)
    shared: Sequence[str] = ()
    taken: Mapping[str, tuple[str, Callable[[Any], Any]]] = field(default_factory=dict)
    display: Sequence[Option] = ()
    shown: Callable[[Address, Result], Shown] | None = None
    table: str = ""
    models: Callable[[Any], tuple[str, ...]] = refs_of
    problem: Callable[[Any], str] = lambda spec: ""
    looked_at: Sequence[str] = ()

    @property
    def options(self) -> list[Option]:
        """Return the options that the page's address holds for the experiment."""
        options = {option.name: option for option in options_of(self.study.Spec)}
        return [
            *(replace(options[name], name=ours) for ours, name in self.own.items()),
            *self.display,
        ]

    @property
    def read(self) -> frozenset[str]:
        """Return the options of the page's form that the experiment depends on."""
        return frozenset(
            (*self.shared, *self.looked_at, *(name for name, _ in self.taken.values()))
        )

    def asked(self, address: Address, spec: Spec) -> Spec:
        """Make the experiment's spec.

        Args:
            address: The page's, which holds the experiment's own options.
            spec: Of the page's main study.

        Raises:
            PalimpsestError: If the values are invalid, such as a pattern of models without a match.
        """
        values = {name: getattr(spec, name) for name in self.shared}
        values |= {name: make(getattr(spec, source)) for name, (source, make) in self.taken.items()}
        values |= {name: address[ours] for ours, name in self.own.items()}
        asked: Spec = self.study.Spec(**values)
        self.models(asked)
        return asked


def reason_of(study: Study) -> str:
    """Say in a sentence why one would run a study; what it tells, where it does not say why."""
    return study.reason or f"{study.purpose[0].upper()}{study.purpose[1:]}."
