"""Where stream apps run: on the streams of a session, and over what was recorded of them."""
