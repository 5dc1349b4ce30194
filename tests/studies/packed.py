"""What is in a study's folder, for tests to compare."""

from brigand.studies.packs import Packs


def blocks(folder):
    """Return the bytes of every block, by its key, in whatever file it is."""
    packs = Packs(folder / "pieces")
    return {key: b"".join(packs.content(key)[1:]) for key in list(packs.keys())}


def alone(folder):
    """Put every block into a file of its own, as earlier versions of Brigand did; return these by key."""
    there, before = blocks(folder), list((folder / "pieces").iterdir())
    paths = {key: folder / "pieces" / key[:2] / f"{key}.block" for key in there}
    for key, path in paths.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(there[key])
    for path in before:
        path.unlink()
    return dict(sorted(paths.items()))


def files(folder):
    """Return the bytes of every file that holds blocks."""
    paths = (folder / "pieces").rglob("*")
    return {path.name: path.read_bytes() for path in paths if path.is_file() and path.name[0] != "."}
