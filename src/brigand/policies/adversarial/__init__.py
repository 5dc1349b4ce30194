"""Rewards that an adversary may choose."""
