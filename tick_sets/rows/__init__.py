"""Shared by all importers: files to columns, columns to quotes, rejected rows with their reasons."""
