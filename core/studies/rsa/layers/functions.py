"""Functions of layers: which models have them compared, and what is said where they cannot be.

A layer's function is compared on the base's own input to that layer, so only layers of models that
were trained from the base are asked, and only of architectures whose layers can be run one by one.
"""

from __future__ import annotations

import numpy as np

from core.models.architectures import describe_type
from core.models.changes import changes_of, shares_no_start
from core.models.identity import Identity, identities
from core.models.loading.reading import is_layerwise
from core.runs.runner import Outputs
from core.studies.rsa.layers.notice_text import said
from core.studies.rsa.layers.spec import RsaSpec

PART = "function"  # part of a task's role: outputs on the base's input


def tuned_models(spec: RsaSpec, ready: Outputs) -> tuple[str, ...]:
    """List the models whose layers can read the base's states: those that were trained from it."""
    if not spec.functions or inseparable(identities(ready)[spec.base]):
        return ()
    return tuple(
        ref
        for ref, change in changes_of(ready).items()
        if not np.isnan(change.size) and not shares_no_start(change.apart)
    )


def fits_whole(base: Identity) -> bool:
    """Whether the base's weights are all in memory at once, so that a change can be rotated."""
    random = base.ref.startswith("random:")
    return not is_layerwise(base.parameters, base.model_type, random=random)


def inseparable(base: Identity) -> str:
    """Say why the base's layers cannot be applied one by one; "" if they can."""
    return describe_type(base.model_type, base.ref).inseparable


def function_notices(spec: RsaSpec, ready: Outputs) -> list[str]:
    """Tell why the functions of layers are missing, for an architecture whose layers depend on each
    other, or are not compared with random changes, for a model that is read layer by layer."""
    if not spec.functions:
        return []
    base = identities(ready)[spec.base]
    reason = inseparable(base)
    if reason:
        return [said("no_functions", base=spec.base, reason=reason)]
    return [] if fits_whole(base) else [said("no_random_changes", base=spec.base)]
