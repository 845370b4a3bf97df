"""Published stream apps: the part of a session that runs them, and answers for them."""
