"""Explore, then commit to one arm."""
