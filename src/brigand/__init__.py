"""Brigand: multi-armed bandits that need to know nothing about the reward distribution.

Names are loaded when they are first used: ``import brigand`` itself loads no other package. The public names
are listed in ``__init__.pyi``, and the policies among them in ``policies/catalogue.py``.
"""

import ast
import os

import lazy_loader


def _public() -> dict[str, list[str]]:
    """Return the public names, which are imported ``as`` themselves, by module."""
    found: dict[str, list[str]] = {}
    for name in ("__init__.pyi", os.path.join("policies", "catalogue.py")):
        with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                module = (node.module or "").removeprefix("brigand.")
                found.setdefault(module, []).extend(alias.name for alias in node.names if alias.asname)
    return found


_modules = _public()
_lazy, __dir__, __all__ = lazy_loader.attach(__name__, _modules.pop(""), _modules)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("brigand")
    return _lazy(name)
