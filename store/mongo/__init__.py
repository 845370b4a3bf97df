"""The store on MongoDB."""
