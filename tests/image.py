"""The Dockerfile's steps, executed as far as a machine without Docker can.

make image  (as root)

A clean root gets this machine's system files and this Python without its packages. In it RUN, ENV,
USER, WORKDIR and COPY are done as written, and CMD is started and asked by HEALTHCHECK's command. Needs
Linux, root and port 8501.

Not executed: FROM (the packages and C library are this machine's, not Debian slim's), the layers and
their cache, VOLUME's mount, EXPOSE, and HEALTHCHECK's schedule.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests import ROOT

SYSTEM = ("usr", "etc/ssl", "etc/alternatives", "opt", "dev")  # bound into the root
SETTINGS = ("login.defs", "hosts", "resolv.conf", "nsswitch.conf", "pip.conf")
ONLY_ROOT = {  # an image has no people yet
    "passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "group": "root:x:0:\n",
    "shadow": "root:*:19000:0:99999:7:::\n",
    "gshadow": "root:*::\n",
}
NETWORK = re.compile(r"(?i)^(pip_|.*_proxy$|ssl_cert|requests_ca)")  # variables of this machine
BASE = sys.base_prefix  # in the root, too: Python finds its library there
PATH = f"{BASE}/bin:/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
STARTS = 120  # seconds until the app must be healthy
Step = tuple[str, str]  # instruction, its arguments on one line


def steps(dockerfile: str) -> list[Step]:
    """Split a Dockerfile into its instructions, continued lines joined."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.split("\n"))
            if name]  # fmt: skip


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a file, or a folder above it, out of the image."""
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf8").split()
    above = [path, *(str(folder) for folder in Path(path).parents)]
    return any(
        fnmatch(Path(one).name, pattern[3:]) if pattern.startswith("**/") else fnmatch(one, pattern)
        for one in above
        for pattern in patterns
    )


def image_entry() -> tuple[list[str], dict[str, str]]:
    """The image's command and variables where there is no image: without its port, path and
    store."""
    instructions = dict(steps((ROOT / "Dockerfile").read_text(encoding="utf8")))
    command = [part for part in json.loads(instructions["CMD"]) if "server.port" not in part]
    pairs = (part.partition("=") for part in shlex.split(instructions["ENV"]))
    variables = {name: text for name, _, text in pairs}
    del variables["PATH"], variables["PALIMPSEST_STORE"]
    return [sys.executable, *command[1:]], variables


@dataclass
class Image:
    """A root folder in which a Dockerfile's steps are executed; see `steps`."""

    root: Path
    user: str = "root"
    folder: str = "/"
    variables: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})

    def prepare(self) -> None:
        """Make the folders, copy the system's settings, and put Python at its place."""
        for name in (*SYSTEM, "proc", "tmp", "root", "home", "python/bin", "python/lib", BASE[1:]):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "tmp").chmod(0o1777)
        for name in ("bin", "sbin", "lib", "lib64"):
            if Path("/", name).is_symlink():
                (self.root / name).symlink_to(Path("/", name).readlink())
        for name in SETTINGS:
            if Path("/etc", name).is_file():
                shutil.copy(Path("/etc", name), self.root / "etc" / name)
        for name, content in ONLY_ROOT.items():
            (self.root / "etc" / name).write_text(content, encoding="utf8")
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        base = Path(BASE)
        skipped = shutil.ignore_patterns("site-packages", "test", "__pycache__")
        shutil.copytree(base / "lib" / version, self.root / "python/lib" / version, ignore=skipped)
        for library in (base / "lib").glob("libpython*"):
            shutil.copy(library, self.root / "python/lib")
        for name in (version, "python3", "python"):
            shutil.copy(base / "bin" / version, self.root / "python/bin" / name)
        self.run("python -m ensurepip --default-pip >/dev/null")

    def run(self, command: str, seconds: float | None = None) -> None:
        """Run a command line in the root as the present user.

        Raises:
            CalledProcessError: If it fails.
            TimeoutExpired: If it takes longer.
        """
        root = shlex.quote(str(self.root))
        mounts = [
            f"mount --rbind /{name} {root}/{name}" for name in SYSTEM if Path("/", name).is_dir()
        ]
        mounts += [
            f"mount -t proc proc {root}/proc",
            f"mount --bind {root}/python {root}{BASE}",
        ]
        become = (
            ""
            if self.user == "root"
            else f"setpriv --reuid={self.user} --regid={self.user} --clear-groups "
        )
        inner = f"cd {shlex.quote(self.folder)} && {command}"
        outer = f"{' && '.join(mounts)} && exec chroot {root} {become}sh -c {shlex.quote(inner)}"
        kept = {name: value for name, value in os.environ.items() if NETWORK.match(name)}
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        environment = {**kept, "HOME": home, **self.variables}
        isolated = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", outer]
        subprocess.run(isolated, env=environment, check=True, timeout=seconds)

    def execute(self, name: str, rest: str) -> bool:
        """Execute one instruction; return whether it is one that is executed."""
        if name == "RUN":
            self.run(rest)
        elif name == "ENV":
            for part in shlex.split(rest):
                key, _, value = part.partition("=")
                self.variables[key] = value.replace("$PATH", self.variables["PATH"])
        elif name == "USER":
            self.user = rest
        elif name == "WORKDIR":
            self.folder = rest
        elif name == "COPY":
            self._copy(rest)
        else:
            return False
        return True

    def _copy(self, rest: str) -> None:
        """Copy files of the repository that .dockerignore lets through."""
        *sources, target = [part for part in rest.split() if not part.startswith("--")]
        owner = re.search(r"--chown=(\S+)", rest)
        listed = subprocess.run(
            ["git", "ls-files", *sources], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        place = self.root / self.folder.lstrip("/") / target
        for path in (path for path in listed if not ignored(path)):
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, place / path)
        if owner:
            present, self.user = self.user, "root"
            self.run(f"chown -R {owner[1]}:{owner[1]} {shlex.quote(self.folder)}")
            self.user = present


def main() -> int:
    """Execute the steps and start the app; 1 where it is not healthy in time."""
    instructions = steps((ROOT / "Dockerfile").read_text(encoding="utf8"))
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        Path(folder).chmod(0o755)
        image = Image(Path(folder))
        image.prepare()
        for name, rest in instructions:
            began = time.monotonic()
            executed = image.execute(name, rest)
            took = f"{time.monotonic() - began:.0f} s" if executed else "not executed"
            print(f"{name} {rest[:70]}: {took}", flush=True)
        start = shlex.join(json.loads(dict(instructions)["CMD"]))
        health = dict(instructions)["HEALTHCHECK"].partition("CMD ")[2]
        began = time.monotonic()
        asked = f"{{ {start} & }}; until {health} 2>/dev/null; do sleep 1; done"
        try:
            image.run(asked, STARTS)
        except subprocess.TimeoutExpired:
            print(f"not healthy after {STARTS} s")
            return 1
        print(f"CMD is healthy after {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
