"""Where compiled code is kept between processes.

Numba's own cache lies beside the source, where it outlives the package, and looks at the file of the function
alone. This one lies in the user's cache folder (in ``NUMBA_CACHE_DIR`` if that is set), is named by what the
code is made of (`brigand.stamps`), and keeps one version of a function. It is never a reason to fail: what
cannot be read is compiled again, what cannot be written is not kept. A checksum stands before compiled code,
for damaged code would end the process.

It is built from parts of Numba's cache that are not documented. Where they are not as expected, Numba's own
cache is used; then old versions stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import pickle
import sys
from pathlib import Path
from typing import Any

from numba import config

CHECKSUM = hashlib.sha256().digest_size


def folder() -> Path | None:
    """Return the folder of compiled code, which may not be there yet; None for a user without a home."""
    chosen: str = vars(config)["CACHE_DIR"]
    if chosen:
        return Path(chosen) / "brigand"
    import platformdirs

    found = platformdirs.user_cache_path("brigand") / "compiled"
    return found if found.is_absolute() else None


def enable(dispatcher: Any, name: str, stamp: str, source: str) -> None:
    """Let a compiled function be found again by other processes.

    Parameters
    ----------
    dispatcher : numba dispatcher
        Not yet called.
    name : str
        The function's, with what tells it from others of this package.
    stamp : str
        A hash of what it is made of.
    source : str
        What it is made from, and where that lies: a copy of it elsewhere has files of its own.
    """
    place = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    path = folder()
    if path is None:
        return
    try:
        dispatcher._cache = _cache(dispatcher.py_func, path, f"{name}.{place}", stamp)
    except Exception:  # Numba is not as expected
        with contextlib.suppress(RuntimeError):  # there is no folder to keep it in
            dispatcher.enable_caching()


def misses(dispatcher: Any) -> bool:
    """Return whether a function is to be kept and is not there yet; False if that is not known."""
    path = getattr(getattr(getattr(dispatcher, "_cache", None), "_cache_file", None), "_index_path", None)
    return path is not None and not os.path.exists(path)


def load_compiler() -> None:
    """Let Numba load what it needs before it can run the first function, but not SciPy's linear algebra.

    Numba loads that to see whether it is there, which takes as long as all the rest. It loads it again where
    a function needs it, so here it is enough to know that SciPy is installed.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    try:
        from numba.np import linalg

        ensure = linalg.ensure_blas
        linalg.ensure_blas = _ensure_scipy
        try:
            vars(importlib.import_module("numba.np.arraymath"))["ensure_blas"] = ensure
        finally:
            linalg.ensure_blas = ensure
    except Exception:  # Numba is not as expected, and does it its own way
        return


def _ensure_scipy() -> None:
    if importlib.util.find_spec("scipy") is None:
        raise ImportError("SciPy is not installed")


def _cache(function: Any, path: Path, name: str, stamp: str) -> Any:
    from numba.core import caching

    tag = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"

    class Locator(caching._CacheLocator):
        _py_file = function.__code__.co_filename

        def get_cache_path(self) -> str:
            return str(path)

        def get_source_stamp(self) -> str:
            return stamp

        def get_disambiguator(self) -> str:
            return ""

    class Impl(caching.CompileResultCacheImpl):
        def __init__(self, py_func: Any) -> None:
            self._lineno = py_func.__code__.co_firstlineno
            self._locator = Locator()
            self._filename_base = f"{name}-{stamp}.{tag}"

    class File(caching.IndexDataCacheFile):
        def _load_index(self) -> Any:
            try:
                found = super()._load_index()
            except Exception:  # damaged, or not allowed to be read: it is written anew
                return {}
            return found if isinstance(found, dict) else {}

        def _load_data(self, name: str) -> Any:
            content = Path(self._data_path(name)).read_bytes()
            if hashlib.sha256(content[CHECKSUM:]).digest() != content[:CHECKSUM]:
                raise ValueError(f"{name} is damaged")
            return pickle.loads(content[CHECKSUM:])

        def _save_data(self, name: str, data: Any) -> None:
            content = self._dump(data)
            with self._open_for_write(self._data_path(name)) as file:
                file.write(hashlib.sha256(content).digest() + content)

    class Cache(caching.FunctionCache):
        _impl_class = Impl

        def __init__(self, py_func: Any) -> None:
            super().__init__(py_func)
            self._cache_file = File(self._cache_path, self._impl.filename_base, stamp)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super().load_overload(sig, target_context)
            except Exception:  # damaged, or not allowed to be read
                with contextlib.suppress(OSError):
                    os.unlink(self._cache_file._index_path)
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with contextlib.suppress(Exception):  # a full disk, say
                super().save_overload(sig, data)
                _remove_others(path, f"{name}-", stamp, tag)

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return sig, codegen.magic_tuple()

    return Cache(function)


def _remove_others(path: Path, prefix: str, stamp: str, tag: str) -> None:
    """Remove the versions of a function that have another stamp."""
    with os.scandir(path) as entries:
        for entry in entries:
            rest = entry.name.removeprefix(prefix)
            if rest != entry.name and not rest.startswith(stamp) and f".{tag}." in rest:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
