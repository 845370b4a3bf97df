"""The store's ports, cut along their users. MongoDB and memory are adapters of all of them."""
