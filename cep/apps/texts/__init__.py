"""What is said of the text of a stream app: what is wrong with it, and what it is made of."""
