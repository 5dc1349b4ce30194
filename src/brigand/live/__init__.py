"""Bandits that serve: ask for an arm, tell its reward."""
