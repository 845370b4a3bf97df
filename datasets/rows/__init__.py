"""What all importers share: files into columns, columns into quotes, what is rejected and why."""
