"""Prerequisites: environment, jars, data folder, logins."""
