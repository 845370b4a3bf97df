"""Authentication: keys, sign-ins, tickets, tokens and rate limits."""
