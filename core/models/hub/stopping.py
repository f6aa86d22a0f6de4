"""A download that ends where the Hub said that the file does, whatever the server sends.

huggingface_hub compares the sizes when everything has arrived; a progress bar of its callers is
told of every piece before it is written.
"""

from __future__ import annotations

from typing import Any, cast

from core.errors import ModelError

PLAIN = "huggingface_hub.http_get"  # the name of bars that are told of a file's own bytes


def stopping_bar(most: int, file: str) -> Any:
    """Make a class of progress bars that refuse a file of more bytes.

    Args:
        most: Bytes.
        file: Its name in the message.
    """
    from huggingface_hub.utils import tqdm

    def check(size: float) -> None:
        if size > most:
            raise ModelError(
                f"{file} has more bytes than the {most:,} that the Hub states or a file of its "
                "kind may have: choose another model."
            )

    class Bar(cast("type[Any]", tqdm)):  # type: ignore[misc]
        monitor_interval = 0  # no thread that watches it: there would be one for each class

        def __init__(self, *values: Any, **named: Any) -> None:
            check(named.get("total") or 0)
            self.arrived = named.get("initial") or 0
            self.plain = named.get("name") == PLAIN
            super().__init__(*values, **named)

        def update(self, n: float | None = 1) -> bool | None:
            self.arrived += n or 0
            if self.plain:
                check(self.arrived)
            return cast("bool | None", super().update(n))

    return Bar
