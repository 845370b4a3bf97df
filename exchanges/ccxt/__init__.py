"""Any exchange that ccxt knows: its books, its orders, and whether it can be traded on."""
