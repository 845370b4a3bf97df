"""What one symbol's feed writes to the log, decided from books and times alone. Pure."""
