"""Where live bandits are kept: each one's definition, the log of its events and its latest state.

Storage knows records, never policies: definitions, states and data are JSON text that it does not read.
"""
