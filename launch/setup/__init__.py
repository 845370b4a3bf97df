"""What must be there first: environment, jars, data folder, logins."""
