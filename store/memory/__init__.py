"""The store in memory, under the same contract: backtests trade on it."""
