"""Records of the store that no trade depends on: what users ask for, and what parts say of it."""
