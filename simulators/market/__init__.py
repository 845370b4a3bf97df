"""The market around the test account: prices, ladders of the market maker, the figures of the day."""
