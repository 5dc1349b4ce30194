"""Forced exploration: FE and SW-FE, what this package is about."""
