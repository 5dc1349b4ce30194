"""Logs of decisions that were made: reading them, replaying policies on them, evaluating rules by them."""
