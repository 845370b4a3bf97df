"""What is shown: quotes, order books, cross spreads, opportunities."""
