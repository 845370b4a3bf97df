"""All formats that can be imported, by name."""

from tick_sets.importers.binance import BINANCE_FORMATS
from tick_sets.importers.bybit import BYBIT_BOOKS
from tick_sets.importers.ccxt_bars import CCXT_OHLCV
from tick_sets.importers.freqtrade import FREQTRADE_FORMATS
from tick_sets.importers.hftbacktest_streams import HFTBACKTEST_FORMATS
from tick_sets.importers.kaiko import KAIKO_FORMATS
from tick_sets.importers.kraken import KRAKEN_FORMATS
from tick_sets.importers.lean_columns import LEAN_FORMATS
from tick_sets.importers.tardis import TARDIS_TOPS
from tick_sets.importers.tardis_books import TARDIS_BOOKS
from tick_sets.mapped.mapping import CSV_FORMATS
from tick_sets.rows.import_format import Format

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
