"""What to pull next. One paper or family a file; nothing here knows who runs it."""
