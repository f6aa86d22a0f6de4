"""A study beside a page's own: its options in the page's address, and what its view shows."""

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
        charts: Draws its charts.
        tables: Its tables by name, or the rows of them that are shown.
        sentence: Its headline; the study's where it is empty.
        view: What the charts depend on beside the result.
    """

    charts: Drawing
    tables: Mapping[str, pd.DataFrame]
    sentence: str = ""
    view: Hashable = None


@dataclass(frozen=True)
class Experiment:
    """A study beside a page's own.

    Attributes:
        study: What is run.
        own: Options with controls in the view: name in the address -> the option's.
        shared: Options that the page's form has too, by the same name.
        taken: Options that are made from another option of the page's form: name -> (the form's, what makes it).
        display: Options of what is shown of the result.
        shown: Result -> what is shown, with controls of its own; every figure and every table without it.
        table: The table that CSV and Parquet give; the main one where it is empty.
        models: Spec -> the models that are read.
        problem: The page's study -> why there is no such experiment with it; "" where there is.
        looked_at: Options of the page's form that `problem` looks at.
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
        """What the page's address holds for it."""
        options = {option.name: option for option in options_of(self.study.Spec)}
        return [*(replace(options[name], name=ours) for ours, name in self.own.items()), *self.display]

    @property
    def read(self) -> frozenset[str]:
        """Options of the page's form that it depends on."""
        return frozenset((*self.shared, *self.looked_at, *(name for name, _ in self.taken.values())))

    def asked(self, address: Address, spec: Spec) -> Spec:
        """The study that is asked for.

        Args:
            address: The page's, which holds the experiment's own options.
            spec: The page's study.

        Raises:
            PalimpsestError: If it is none, such as a pattern of models that matches nothing.
        """
        values = {name: getattr(spec, name) for name in self.shared}
        values |= {name: make(getattr(spec, source)) for name, (source, make) in self.taken.items()}
        values |= {name: address[ours] for ours, name in self.own.items()}
        asked: Spec = self.study.Spec(**values)
        self.models(asked)
        return asked
