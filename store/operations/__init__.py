"""Documents beside trading: processes, backtests, notices, the audit log."""
