"""Who may come in: keys, sign-ins, tickets, tokens, rates."""
