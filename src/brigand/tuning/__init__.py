"""Finding an exploration sequence for a family of problems."""
