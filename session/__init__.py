"""A session: its description, and the parts that it is made of."""
