"""All formats that can be imported, by name."""

from datasets.importers.binance import BINANCE_FORMATS
from datasets.importers.bybit import BYBIT_BOOKS
from datasets.importers.ccxt_bars import CCXT_OHLCV
from datasets.importers.freqtrade import FREQTRADE_FORMATS
from datasets.importers.hftbacktest_streams import HFTBACKTEST_FORMATS
from datasets.importers.kaiko import KAIKO_FORMATS
from datasets.importers.kraken import KRAKEN_FORMATS
from datasets.importers.lean_columns import LEAN_FORMATS
from datasets.importers.tardis import TARDIS_TOPS
from datasets.importers.tardis_books import TARDIS_BOOKS
from datasets.mapped.mapped import CSV_FORMATS
from datasets.rows.import_format import Format

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
