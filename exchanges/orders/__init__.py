"""Order APIs: posting, following and finding an order; one file per exchange."""
