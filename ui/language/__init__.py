"""What an editor of stream apps offers: links to the documentation, the grammar and the shipped apps, and their
reader."""
