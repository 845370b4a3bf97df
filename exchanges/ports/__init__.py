"""What an exchange's orders, books and accounts keep to, and what all of them share."""
