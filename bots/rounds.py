"""How often a bot looks at everything, besides what it is notified of."""

ROUND_SECONDS = 0.5
