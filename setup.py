"""What pyproject.toml cannot say: the wheel has the repository's folders under one name.

`palimpsest/core` is `core`, and so on; `deploy/installed` is the package around them. The included
models are 162 MB, more than a package index takes in one file: PALIMPSEST_MODELS=0 leaves their
weights out, and `zoo/pyproject.toml` makes a distribution of them that is installed beside.
"""

import os
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

PARTS = ("core", "extras", "pages", "ui", "zoo")
LEFT_OUT = ["zoo.*"]  # the recipe of the models is for the repository; their files are data
ENTRY = ("app.py", ".streamlit/config.toml")
MODELS = [] if os.environ.get("PALIMPSEST_MODELS") == "0" else ["models/*/*"]


class WithEntry(build_py):
    """Puts the app's entry and its configuration beside the parts."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for name in ENTRY:
                target = Path(self.build_lib, "palimpsest", name)
                self.mkpath(str(target.parent))
                self.copy_file(name, str(target))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        more = [str(Path(self.build_lib, "palimpsest", name)) for name in ENTRY]
        return super().get_outputs(include_bytecode) + more


found = find_namespace_packages(
    include=[name for part in PARTS for name in (part, f"{part}.*")], exclude=LEFT_OUT
)
setup(
    packages=["palimpsest", *(f"palimpsest.{name}" for name in found)],
    package_dir={"palimpsest": "deploy/installed"} | {f"palimpsest.{p}": p for p in PARTS},
    package_data={
        "palimpsest": ["py.typed"],
        "palimpsest.core": ["**/*.html", "**/*.toml"],
        "palimpsest.extras": ["**/*.toml"],
        "palimpsest.ui": [f"**/*.{kind}" for kind in ("css", "html", "js", "png", "svg", "toml")],
        "palimpsest.zoo": [
            "manifest.json",
            "answers/*",
            "corpus/*",
            "parser/**/*",
            "tokenizer/*",
            *MODELS,
        ],
    },
    cmdclass={"build_py": WithEntry},
)
