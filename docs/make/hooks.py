"""What MkDocs calls while it builds: navigation, pages and figures that are made from the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

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
    for place, content in {**made_pages(), **made_images()}.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill a page's marks and formulas before it becomes HTML."""
    return filled(markdown)
