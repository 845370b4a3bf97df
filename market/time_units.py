"""Times are whole microseconds UTC everywhere; this is how many a second has."""

MICROSECONDS = 1_000_000
