"""All formats that can be imported, by name."""

from pricefeeds.importers.binance import BINANCE_FORMATS
from pricefeeds.importers.bybit import BYBIT_BOOKS
from pricefeeds.importers.ccxt_bars import CCXT_OHLCV
from pricefeeds.importers.format import Format
from pricefeeds.importers.freqtrade import FREQTRADE_FORMATS
from pricefeeds.importers.hftbacktest_streams import HFTBACKTEST_FORMATS
from pricefeeds.importers.kaiko import KAIKO_FORMATS
from pricefeeds.importers.kraken import KRAKEN_FORMATS
from pricefeeds.importers.lean_columns import LEAN_FORMATS
from pricefeeds.importers.mapped import CSV_FORMATS
from pricefeeds.importers.tardis import TARDIS_TOPS
from pricefeeds.importers.tardis_books import TARDIS_BOOKS

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        *TARDIS_TOPS,
        TARDIS_BOOKS,
        *BINANCE_FORMATS,
        *KAIKO_FORMATS,
        *KRAKEN_FORMATS,
        *FREQTRADE_FORMATS,
        CCXT_OHLCV,
        *LEAN_FORMATS,
        *HFTBACKTEST_FORMATS,
        BYBIT_BOOKS,
        *CSV_FORMATS,
    )
}
