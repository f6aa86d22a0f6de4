"""An experiment, a study beside its page's main one: options and view."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.catalogue import STUDIES
from core.errors import sentence_of
from core.options import Option, Spec, options_of
from ui.frame.links import Address, Beside

if TYPE_CHECKING:
    from core.results.drawing.printing import Drawing
    from core.results.export import Result
    from core.study import Study, View


@dataclass(frozen=True)
class Experiment:
    """A study beside its page's main one.

    Every option of the study that has a control is in its view, except those named here.

    Attributes:
        study: The study.
        shared: Options that the page's form also has, by the same name.
        taken: Options computed from another option of the page's form: name -> (the form's option,
            function).
        fixed: Options that keep their defaults on the page.
        display: Options that change only how the result is shown.
        choose: Draws the controls of the view -> what its reader chose; without it, the view's
            `titles` are asked for.
        below: Draws a control below the charts -> the charts that it governs, and its value.
        moves: Whether points of its charts follow the slider of the layer.
        models: Spec -> the models that the study reads.
        problem: Spec of the page's study -> why the experiment cannot be run with it; "" if it can.
        looked_at: Options of the page that `problem` or `choose` reads.
    """

    study: Study
    shared: Sequence[str] = ()
    taken: Mapping[str, tuple[str, Callable[[Any], Any]]] = field(default_factory=dict)
    fixed: Sequence[str] = ()
    display: Sequence[Option] = ()
    choose: Callable[[Address, Result], tuple[Hashable, ...]] | None = None
    below: Callable[[Address, Result], tuple[Drawing, str]] | None = None
    moves: bool = False
    models: Callable[[Any], tuple[str, ...]] = lambda asked: asked.refs
    problem: Callable[[Any], str] = lambda spec: ""
    looked_at: Sequence[str] = ()

    @property
    def view(self) -> View:
        """Return the experiment's view."""
        return self.study.views[0]

    @property
    def own(self) -> list[Option]:
        """Return the options with controls in the view."""
        elsewhere = {*self.shared, *self.taken, *self.fixed}
        options = options_of(self.study.Spec)
        return [option for option in options if option.shown and option.name not in elsewhere]

    def key(self, name: str) -> str:
        """Return the widget key of one of its options, which the page's own may also have."""
        return f"{self.study.name}/{name}"

    @property
    def beside(self) -> Beside:
        """Return the experiment as links hold it."""
        options = {self.key(option.name): option for option in (*self.own, *self.display)}
        name = self.study.name
        return Beside(name, self.view.name, options, self.read, name in STUDIES.added)

    @property
    def read(self) -> frozenset[str]:
        """Return the options of the page's form that the experiment depends on."""
        return frozenset(
            (*self.shared, *self.looked_at, *(name for name, _ in self.taken.values()))
        )

    def asked(self, address: Address, spec: Spec) -> Spec:
        """Make the experiment's spec from the page's and the options in its address. Raises
        PalimpsestError if values are invalid, such as a pattern of models without a match."""
        values = {name: getattr(spec, name) for name in self.shared}
        values |= {name: make(getattr(spec, source)) for name, (source, make) in self.taken.items()}
        values |= {option.name: address[self.key(option.name)] for option in self.own}
        asked: Spec = self.study.Spec(**values)
        self.models(asked)
        return asked


def experiments_of(main: str, *experiments: Experiment) -> dict[str, Experiment]:
    """Name a page's experiments by their views, followed by the studies of other packages whose
    names begin as that of its main study, with which they share options."""
    of_page = {option.name for option in options_of(STUDIES[main].Spec)}
    added = [STUDIES[name] for name in STUDIES.added if name.split()[0] == main]
    names = ({option.name for option in options_of(study.Spec)} for study in added)
    shared = [sorted(of_page & options) for options in names]
    every = (*experiments, *map(Experiment, added, shared))
    return {each.view.name: each for each in every}


def reason_of(study: Study) -> str:
    """Say in a sentence why one would run a study; what it tells, where it does not say why."""
    return study.words.reason or sentence_of(study.purpose)
