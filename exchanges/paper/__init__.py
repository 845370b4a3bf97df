"""The local paper account: fills orders against live quotes, without requests to an exchange."""
