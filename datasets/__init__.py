"""Recorded market data: tick sets, and the files that become one."""
