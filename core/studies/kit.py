"""What a study is written with, in this repository and in a package of one's own.

The study and its views, tasks and their outputs, models and texts of the first stage, and what was
found. Options come from `core.options`, what tasks are written with from `core.studies.task_kit`.
"""

from core.maths.arrays import Value
from core.models.changes import change_tasks, changes_of
from core.models.identity import contents, identities, identity_tasks
from core.results.differences import ComparedTable
from core.results.drawing.context import PAGE, Context
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.results.findings import Findings
from core.results.words import words_beside
from core.runs.runner import Outputs, Task
from core.runs.tasks import given_task
from core.studies.notices import nothing_compared, sentence_notices, start_notices
from core.study import Study, View
from core.text.corpora import Corpus
from core.text.reading import Text, prepare_named, text_task
from core.vectors.sinks import sink_argument

__all__ = [
    "PAGE",
    "Chart",
    "ComparedTable",
    "Context",
    "Corpus",
    "Findings",
    "Outputs",
    "Result",
    "Study",
    "Task",
    "Text",
    "Value",
    "View",
    "change_tasks",
    "changes_of",
    "contents",
    "given_task",
    "identities",
    "identity_tasks",
    "nothing_compared",
    "prepare_named",
    "sentence_notices",
    "sink_argument",
    "start_notices",
    "text_task",
    "words_beside",
]
