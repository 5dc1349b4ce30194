"""Studies: declared in a file, computed piece by piece, resumed, read and compared."""
