"""Quote logic of one symbol's feed. Pure: books and times in, rows out."""
