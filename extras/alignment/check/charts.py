"""The chart of the bijection check: the error of undoing each form, by its number of blocks."""

from __future__ import annotations

import numpy as np

from core.studies.alignment.seeds.curves import method_looks, named_methods
from core.studies.chart_kit import PAGE, Chart, Context, Plane, Result, line_chart, tip_of
from extras.alignment.check.spec import TRUTHS

LOWEST = 1e-6  # lower errors are rounding and drawn here


def check_chart(result: Result, truth: str, *, context: Context = PAGE) -> Chart:
    """Draw the error of undoing one form of bijection by its number of blocks, a line per map."""
    rows = named_methods(result.table[result.table["truth"] == truth])
    rows = rows.assign(shown=np.maximum(rows["nmse"], LOWEST))
    values = np.log10(rows["shown"])
    blocks = sorted(int(count) for count in set(rows["blocks"]))
    plane = Plane(
        *("blocks", "shown", "Blocks of the bijection (0 = a rotation)", tip_of("nmse").title),
        *(float(10 ** (values.min() - 0.15)), float(10 ** (values.max() + 0.15))),
        (float(blocks[0]), float(max(blocks[-1], blocks[0] + 1))),
        kind="measure",
        x_axis={"values": blocks, "format": "d"},
        y_log=True,
        context=context,
    )
    title = f"Undoing an invertible map (bijection): {truth}"
    return line_chart(rows, plane, method_looks(rows["method"]), title, TRUTHS[truth], line="Map")
