"""bitFlyer's wire protocol."""
