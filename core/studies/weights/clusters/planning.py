"""What a study of weight updates plans: its models and labels, a task for each, their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import SpecError
from core.limits import current_limits
from core.studies.kit import Outputs, Task, text_task
from core.studies.task_kit import Cost, Sizes
from core.studies.weights.activations import SENTENCES, TEXT, plan_states
from core.studies.weights.clusters.distances import distances_task, map_task
from core.studies.weights.clusters.members import Member, earlier_steps, labels_of
from core.studies.weights.clusters.notice_text import describe_table
from core.studies.weights.clusters.selection import Selection, find_models, read_labels
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tables import check_counts
from core.studies.weights.clusters.tasks import kept_rank, measure_delta, measure_weights
from core.studies.weights.label_tables import match_labels

PERMUTED = 6e-8  # processor seconds per permutation of the labels and pair of models
MOST_SHARED = 40  # fine-tunes of one study on a shared instance


def prepare(spec: WeightsSpec, texts: Mapping[str, bytes] | None = None) -> list[Task]:
    """Make the tasks of the first stage: find and identify the models, read the label table, which
    `texts` has under the name of `spec.labels` if it was uploaded."""
    tasks = [
        Task.of(
            "models", find_models, role="models", fleeting=True,
            base=spec.base, patterns=spec.models, own_bases=spec.own_bases, tree=spec.tree,
            run=spec.reads_states,
        )
    ]  # fmt: skip
    if spec.reads_states:
        tasks.append(text_task(TEXT, (), SENTENCES, texts))
    if spec.labels:
        table = Task.of(
            "label table", read_labels, role="labels", fleeting=True,
            ref=spec.labels, column=spec.column, given=(texts or {}).get(spec.labels),
        )  # fmt: skip
        tasks.append(table)
    return tasks


def plan(spec: WeightsSpec, ready: Outputs) -> list[Task]:
    """Make one task per fine-tune; if weights are asked for, also one per model and base. Raises
    SpecError if a shared instance does not compare that many, or there are fewer models than
    neighbours or clusters."""
    selection: Selection = ready.need("models")
    members = selection.members
    if current_limits().shared and len(members) > MOST_SHARED:
        raise SpecError(
            f"A shared instance compares up to {MOST_SHARED} fine-tunes at once, "
            f"not {len(members)}; choose fewer."
        )
    labels = label_models(spec, ready, members)
    aside = aside_of(spec, members, labels)
    scored = sum(bool(label) for place, label in enumerate(labels) if place not in aside)
    check_counts(spec, scored, len(members))
    tasks = [
        Task.of(
            member.ref,
            measure_delta,
            role=("delta", member.ref),
            group=member.ref,
            base=member.base,
            model=member.ref,
            base_identity=selection.identities[member.base],
            model_identity=selection.identities[member.ref],
            families=spec.families,
            kept=kept_rank(spec.rank),
            seed=spec.seed,
        )
        for member in members
    ]
    compared = {ref for member in members for ref in (member.base, member.ref)}
    if spec.of != "delta":
        tasks += [
            Task.of(
                f"{ref} weights",
                measure_weights,
                role=("weights", ref),
                group=ref,
                model=ref,
                model_identity=identity,
                families=spec.families,
            )
            for ref, identity in selection.identities.items()
            if ref in compared
        ]
    if spec.reads_states:
        contents = {ref: selection.contents[ref] for ref in selection.contents if ref in compared}
        tasks += plan_states(contents, ready.need("text").words)
    return tasks


def collect_costs(spec: WeightsSpec, tasks: Sequence[Task], sizes: Sizes) -> list[Cost]:
    """Estimate distances and map, and permuting the labels."""
    deltas = [task for task in tasks if task.function is measure_delta]
    made = (distances_task(deltas, spec.rank), map_task((), spec.map, spec.seed))
    permuting = PERMUTED * spec.permutations * len(deltas) ** 2 / 2
    return [*(task.cost(sizes) for task in made), Cost(permuting, torch=False)]


def label_models(spec: WeightsSpec, ready: Outputs, members: Sequence[Member]) -> list[str]:
    """Return the label of each model, from the table where there is one."""
    return labels_of(members, spec.label_by, _matched(spec, ready)[0])


def table_notices(spec: WeightsSpec, ready: Outputs) -> list[str]:
    """Return the notices of the label table, where there is one."""
    return describe_table(*_matched(spec, ready)) if spec.labels else []


def _matched(spec: WeightsSpec, ready: Outputs) -> tuple[dict[str, str], list[str]]:
    """Label by reference, and names of the label table's rows that match no model."""
    if not spec.labels:
        return {}, []
    selection: Selection = ready.need("models")
    return match_labels(ready.need("labels"), [member.ref for member in selection.members])


def aside_of(spec: WeightsSpec, members: Sequence[Member], labels: Sequence[str]) -> list[int]:
    """Find the places of models that are on the map and in no score: earlier checkpoints of a run,
    and those trained with other settings than the rest, unless an uploaded table labels them."""
    every = spec.labels or all(member.variant for member in members)
    variants = [] if every else [n for n, member in enumerate(members) if member.variant]
    return sorted({*variants, *earlier_steps(members, labels)})
