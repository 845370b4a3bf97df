"""From an opportunity to a reservation, or to the reason against it."""
