"""All formats that can be imported, by name."""

from pricefeeds.importers.bybit import BYBIT_BOOKS
from pricefeeds.importers.format import Format
from pricefeeds.importers.hftbacktest_streams import HFTBACKTEST_FORMATS
from pricefeeds.importers.tardis import TARDIS_QUOTES

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        TARDIS_QUOTES,
        *HFTBACKTEST_FORMATS,
        BYBIT_BOOKS,
    )
}
