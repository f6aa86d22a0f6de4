"""Python imports this first where PYTHONPATH says so: a server then writes what it has, when asked.

The server's number goes to the file that EFFECTIVE names; SIGUSR1 makes it write beside it, as
JSON, Streamlit's options, the variables of libraries, threads, files and modules. The server
itself is started as it always is.
"""

import json
import os
import resource
import signal
import sys
from typing import Any

OURS = ("HF_", "OMP_", "PALIMPSEST_", "PYTHON", "STREAMLIT_", "TOKENIZERS_", "TRANSFORMERS_")
PLACE = os.environ.pop("EFFECTIVE", "")  # not for the processes that a server starts


def write(*_: Any) -> None:
    """Write what this process has."""
    from streamlit import config
    from threadpoolctl import threadpool_info

    options, variables = config.get_config_options(), os.environ
    has = {
        **{f"options {name}": option.value for name, option in options.items()},
        **{f"variables {name}": variables[name] for name in variables if name.startswith(OURS)},
        "threads": sorted({pool["num_threads"] for pool in threadpool_info()}),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "modules": sorted(name for name in sys.modules if name.startswith(("core.", "ui."))),
    }
    beside = f"{PLACE}.json"
    with open(f"{beside}.part", "w", encoding="utf8") as file:  # noqa: PTH123
        json.dump(has, file, default=str)
    os.replace(f"{beside}.part", beside)  # noqa: PTH105


if PLACE:
    signal.signal(signal.SIGUSR1, write)
    with open(PLACE, "w", encoding="utf8") as file:  # noqa: PTH123
        file.write(str(os.getpid()))
