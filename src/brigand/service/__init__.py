"""Bandits behind HTTP."""
