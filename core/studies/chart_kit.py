"""What the charts of a study are drawn with: a result and what is drawn for, axes, lines, cells and
panels, tooltips, names and numbers. Colours and shapes come from `core.results.drawing.style`."""

from core.results.columns import Tip, tip_of, with_tooltips
from core.results.drawing.axes import Plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, Rule, layer_chart, line_chart
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.panels import Panels, Place, legend_strip
from core.results.drawing.vega import Chart, channel, either, layered
from core.results.export import Result
from core.results.metrics import metric_of
from core.results.names import short_names
from core.results.numbers import Kind, labels_of, text_of

__all__ = [
    "PAGE",
    "Chart",
    "Context",
    "Kind",
    "Look",
    "Panels",
    "Place",
    "Plane",
    "Result",
    "Rule",
    "Tip",
    "channel",
    "either",
    "heatmap",
    "labels_of",
    "layer_chart",
    "layered",
    "legend_strip",
    "line_chart",
    "metric_of",
    "short_names",
    "span_of",
    "text_of",
    "tip_of",
    "with_tooltips",
]
