"""The live job: the latest quotes, cross spreads, opportunities, spread windows."""
