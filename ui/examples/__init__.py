"""Example answers of the routes, for the OpenAPI document."""
