"""What all readers of books share: checked fields of messages, snapshots, many symbols on one connection."""
