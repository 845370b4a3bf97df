"""What is traded where: assets, markets, fees, the rules of an order, orders and fills."""
