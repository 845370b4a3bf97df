"""The same detection as a compiled loop over columns, for recorded data."""
