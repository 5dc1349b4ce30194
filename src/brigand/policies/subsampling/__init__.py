"""Comparisons of sub-samples of the same size."""
