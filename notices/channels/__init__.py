"""Where notices go: webhooks, Telegram, Discord, Slack and mailboxes."""
