"""Randomised indices: posterior draws, bootstraps, perturbed histories."""
