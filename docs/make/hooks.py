"""What MkDocs calls while it builds: navigation, pages and figures that are made from the code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from docs.make.checks import foreign_files
from docs.make.pages import filled, made_images, made_pages, studies_navigation

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

STUDIES_HERE = "Studies"  # the entry of the navigation that the catalogue fills


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation's entry *Studies* from the catalogue."""
    navigation: list[Any] = list(config.nav or [])
    for entry in navigation:
        if isinstance(entry, dict) and STUDIES_HERE in entry:
            entry[STUDIES_HERE] = studies_navigation()
    config.nav = navigation
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and figures that are made from the code."""
    made: dict[str, str | bytes] = {**made_pages(), **made_images()}
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill a page's marks and formulas before it becomes HTML."""
    return filled(markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that loads something from another host.

    Raises:
        PluginError: Names the first page that does, and what it loads.
    """
    for place, addresses in foreign_files(Path(config.site_dir)).items():
        raise PluginError(f"{place} loads {addresses[0]}: keep a copy of it in docs/assets.")
