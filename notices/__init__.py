"""Tells people what happens: who is told what, batched, delivered once."""
