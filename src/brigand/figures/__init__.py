"""Figures: draw from results, never compute."""
