"""What a session shows the person who started it: a line of progress, the page in a browser, a report at the end."""
