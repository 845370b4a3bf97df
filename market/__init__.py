"""The domain: pure values and functions of trading, without I/O or framework."""
