"""Whether and how much to trade: settings, risk checks, quarantine, the walk along both books, sizing. Pure."""
