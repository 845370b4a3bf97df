"""The text of a stream app: its tree, its grammar, and what is wrong with it and where."""
