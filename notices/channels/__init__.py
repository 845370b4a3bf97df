"""Where notices go: webhooks and Telegram."""
