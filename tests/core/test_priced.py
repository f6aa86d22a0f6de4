"""What is priced is what is planned: a study makes the same tasks from sizes and from contents."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest

from core.catalogue import STUDIES
from core.models.costs import Sizes, price_tasks
from core.runs.price import Cost
from core.runs.tasks import IDENTITY, Task, given_task
from core.study import expected_tasks, run_first_stage
from core.text.reading import Unread
from core.vectors.pairs import Items
from tests.cases import exhaustive

# arguments that depend on what is in models and texts
OF_CONTENTS = ("share", "words", "question", "trees", "sizes", "tags", "labels")


def counted(value: Any) -> Any:
    """What is known of an argument before texts are read: how many sentences or items it holds."""
    if isinstance(value, Items):
        return value.items, value.count
    sentences = isinstance(value, tuple) and any(isinstance(part, tuple) for part in value)
    return len(value) if sentences or isinstance(value, Unread) else value


def known(task: Task) -> tuple[Any, ...]:
    """Name, role, function and arguments of a task, apart from identities and contents."""
    arguments = {
        name: counted(value)
        for name, value in task.arguments
        if not name.endswith((IDENTITY, "identities")) and name not in OF_CONTENTS
    }
    return task.name, task.role, task.function, task.group, arguments


def unnamed(task: Task) -> Task:
    """The same task without its model."""
    arguments = tuple(pair for pair in task.arguments if pair[0] != "model")
    kind, _, matched = task.role
    return replace(task, name="", role=(kind, matched), arguments=arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_plans_what_it_is_priced_by(name: str) -> None:
    study = STUDIES[name]
    spec = study.Spec()
    if "sentences" in {part.name for part in fields(spec)}:
        spec = replace(spec, sentences=200)
    expected = expected_tasks(study, spec, Sizes())
    planned = study.plan(spec, run_first_stage(study.prepare(spec, None)))
    if name == "truth":  # of which all but the smallest changes are matched, whichever that is
        expected, planned = (
            sorted(map(unnamed, tasks), key=lambda task: str(task.role))
            for tasks in (expected, planned)
        )
    assert [known(task) for task in expected] == [known(task) for task in planned]


@pytest.mark.slow
@pytest.mark.parametrize("name", exhaustive([*STUDIES], *[*STUDIES][:6]))
def test_planned_tasks_have_the_price_that_was_expected(name: str) -> None:
    study = STUDIES[name]
    spec = study.Spec()
    expected = study.price(spec)
    planned = price_tasks(study.plan(spec, run_first_stage(study.prepare(spec, None))), Sizes())
    for part in ("processor", "memory"):
        ratio = getattr(planned, part) / getattr(expected, part)
        assert 1 / 1.5 < ratio < 1.5, (part, ratio)


def test_of_what_tasks_share_the_most_memory_counts_whichever_comes_last() -> None:
    costs = [Cost(1.0, shared={"model": Cost(1.0, memory)}) for memory in (3e9, 1e9)]
    tasks: list[Any] = [SimpleNamespace(cost=lambda sizes, cost=cost: cost) for cost in costs]
    prices = [price_tasks(order, Sizes()) for order in (tasks, tasks[:1], tasks[::-1])]
    assert len({price.memory for price in prices}) == 1


def test_a_task_without_a_cost_is_named() -> None:
    with pytest.raises(TypeError, match="_hand_on has no `cost=`"):
        given_task("text", "words").cost({})


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_price_runs_no_model_and_takes_no_time() -> None:
    """Torch would keep a page waiting for seconds; a page asks at each of its runs. Calls are
    counted, because seconds depend on the machine: 40,000 took 15 ms where this was written."""
    run = (
        "import sys; from cProfile import Profile; from core.catalogue import STUDIES\n"
        "for name, study in STUDIES.items():\n"
        "    spec, profile = study.Spec(), Profile()\n"
        "    study.price(spec)\n"
        "    profile.runcall(study.price, spec)\n"
        "    calls = sum(each.callcount for each in profile.getstats())\n"
        "    assert calls < 40_000, (name, calls)\n"
        "assert not {'torch', 'transformers', 'spacy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", run], check=True)
