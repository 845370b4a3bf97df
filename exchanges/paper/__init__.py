"""The local paper account: fills orders against live quotes; no request leaves."""
