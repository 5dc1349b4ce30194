"""Rewards that change: windows, discounts and tests for changes."""
