"""Brigand: multi-armed bandits that need to know nothing about the reward distribution.

Names are loaded when they are first used: ``import brigand`` itself loads no other package. The public names
are listed in ``__init__.pyi``.
"""

import lazy_loader

_lazy, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("brigand")
    return _lazy(name)
