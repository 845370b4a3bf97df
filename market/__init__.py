"""The words and the sums of the trade: pure values and functions, no I/O, no framework."""
