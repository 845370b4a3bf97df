"""What an app's text says of its sinks and sources at servers of others, and where these may be."""
