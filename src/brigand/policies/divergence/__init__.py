"""Arms whose rewards do not yet tell them from the best: policies of minimum empirical divergence."""
