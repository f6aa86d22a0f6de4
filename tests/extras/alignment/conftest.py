"""The tiny classifiers of the page's other studies."""

from tests.core.studies.alignment.conftest import models, sentences  # noqa: F401
