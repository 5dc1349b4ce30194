"""Environment x policies -> regret."""
