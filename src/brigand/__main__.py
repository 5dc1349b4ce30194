"""``python -m brigand``: the command, where its script is not on the path."""

from brigand.cli import main

if __name__ == "__main__":
    main()
