"""Hypothesis without a deadline: machines are noisy, and what is checked here are results, never times."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
