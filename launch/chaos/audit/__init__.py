"""The audit of a chaos run: the books beside the exchanges' own records, each difference a violation."""
