"""Kinds of rows of the log that say something about a market."""

QUOTE_KINDS = ("quote", "alive", "withdrawn")
FX_KINDS = ("fx", "fx_alive", "fx_withdrawn")
