"""What trades come to: profit, equity, inventory, missed profit, and our books against an exchange. Pure."""
