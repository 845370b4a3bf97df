"""MongoDB itself: the embedded server, clients, indexes, users, change streams."""
