"""The price of a sweep: of its cells together, with models that several share downloaded once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from core.catalogue import STUDIES
from core.errors import PalimpsestError, counted
from core.models.costs import sizes_of
from core.runs.price import Price, combined
from core.sweep.grid import Cell


def price_cells(cells: Iterable[Cell]) -> tuple[Price, dict[str, float]]:
    """Price cells that have not been computed: the price of all, and expected seconds by key. Work
    that cells share is counted in each; one whose model cannot be found has no price, and fails
    when it is run."""
    prices: dict[str, Price] = {}
    downloads: dict[str, float] = {}
    stores: dict[tuple[str, ...], float] = {}
    for cell in cells:
        if cell.spec is None:
            continue
        with suppress(PalimpsestError):
            price = prices[cell.key] = STUDIES[cell.study].price(cell.spec)
            stores[cell.models] = max(stores.get(cell.models, 0.0), price.store)
            if price.download:
                sizes = {ref: size.download for ref, size in sizes_of(cell.models).items()}
                whole = sum(sizes.values()) or 1
                for ref, size in sizes.items():
                    share = price.download * size / whole
                    downloads[ref] = max(downloads.get(ref, 0.0), share)
    total = replace(
        combined(prices.values()),
        download=sum(downloads.values()),
        store=sum(stores.values()),
        work=counted(len(prices), "cell"),
    )
    return total, {key: price.seconds for key, price in prices.items()}
