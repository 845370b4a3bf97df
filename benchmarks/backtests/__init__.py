"""Detection over recorded quotes: ours beside other people's engines, on the same quotes and to the same result."""
