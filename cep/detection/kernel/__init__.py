"""Detection as a compiled loop over columns, for recorded data."""
