"""OKX: its facts, its orders and its books, spot through its interface of version 5."""
