"""One bot per exchange: decides on opportunities, trades its legs, reconciles its account."""
