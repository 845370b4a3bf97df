"""Tick sets: the log of each base as Parquet, however it came about; backtests and verification read nothing else."""
