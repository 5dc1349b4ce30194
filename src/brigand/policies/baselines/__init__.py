"""What others are compared with: chance, the truth, and epsilon-greedy."""
