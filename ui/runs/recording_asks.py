"""What the page may ask of recordings: bodies of requests, checked."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from market.money import BoundedDecimal

Word = Annotated[str, StringConstraints(strip_whitespace=True, max_length=80)]
LONGEST_MAPPING = 20_000
_set_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
MOST_ALIKE = 20
IMPORT_FORMATS = (
    "binance-aggtrades",
    "binance-bookticker",
    "binance-klines",
    "binance-trades",
    "bybit-books",
    "ccxt-ohlcv",
    "csv",
    "csv-bars",
    "freqtrade-ohlcv",
    "freqtrade-trades",
    "hftbacktest",
    "hftbacktest-depth",
    "hftbacktest-hyperliquid",
    "hftbacktest-trades",
    "kaiko-l2",
    "kaiko-ohlcv",
    "kaiko-snapshots",
    "kaiko-tob",
    "kraken-ohlcvt",
    "kraken-trades",
    "lean-quotes",
    "lean-trades",
    "tardis-l2",
    "tardis-quotes",
    "tardis-snapshots",
    "tardis-trades",
)
"""Of `tick_sets.importers.import_formats`, by name: the dashboard imports nothing that reads files."""


class UploadAsk(BaseModel):
    """A file that will come in pieces: its `name`, which some formats look at, and how many bytes it has."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    size: int = Field(ge=1, le=2**53)


class RecordingAsk(BaseModel):
    """`import` puts an uploaded file into the tick set `set`, new or not; `look` says what is in one, and what was
    rejected; `example` makes one for somebody who has none. The other fields are for an import, as of `arbitrage
    import`: `format` as `auto` is the one that the file looks like; `mapping` is the text of a mapping file."""

    model_config = ConfigDict(extra="forbid")

    work: Literal["import", "look", "example"]
    set: str | None = Field(default=None, max_length=200)
    upload_id: str | None = Field(default=None, max_length=40)
    format: Word = "auto"
    exchange: Word = ""
    symbol: Word = ""
    half_spread_bps: Annotated[BoundedDecimal, Field(gt=0, lt=5_000)] | None = None
    alike: list[Word] = Field(default_factory=list, max_length=MOST_ALIKE)
    mapping: str = Field(default="", max_length=LONGEST_MAPPING)

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "RecordingAsk":
        if self.work != "example" and not self.set:
            raise ValueError("name the tick set: `set`")
        # it becomes the name of a folder
        if self.work == "import" and not _set_name.fullmatch(self.set or ""):
            raise ValueError("`set` may have letters, digits and . _ -, and at most 80 of them")
        if self.work == "import" and not self.upload_id:
            raise ValueError("name the uploaded file: `upload_id`")
        return self
