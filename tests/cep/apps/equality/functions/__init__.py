"""Python of an operator, for the apps that hosts are compared by."""
