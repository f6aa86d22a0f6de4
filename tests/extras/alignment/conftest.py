"""The tiny classifiers of the page's other studies."""

from tests.core.studies.alignment.conftest import models  # noqa: F401
