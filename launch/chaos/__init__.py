"""Chaos runs: faults injected by a seed, and the audit of the ledger."""
