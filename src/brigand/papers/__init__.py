"""One paper a file: its protocol and its figures."""
