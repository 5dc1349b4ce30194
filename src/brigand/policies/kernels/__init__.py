"""Compiled functions and tables that several families share; the names here are what most policies need."""

from brigand.policies.kernels.arithmetic import learn_mean, unit_reward
from brigand.policies.kernels.choices import argmax, index_propensity, index_select, needs_pull

__all__ = ["argmax", "index_propensity", "index_select", "learn_mean", "needs_pull", "unit_reward"]
