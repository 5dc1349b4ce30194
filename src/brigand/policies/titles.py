"""Names of policies for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brigand.errors import BrigandError
from brigand.words import visible

if TYPE_CHECKING:
    from brigand.policies.base import Policy
    from brigand.spec import Spec


def policy_title(policy: Policy | dict[str, Any]) -> str:
    """Return a policy's name in the catalogue, else its class and the settings that are not its defaults.

    Parameters
    ----------
    policy : Policy or dict
        Or its JSON form: of that, if it cannot be read here, the type.

    Examples
    --------
    >>> from brigand import ForcedExploration, Linear, Power
    >>> policy_title(ForcedExploration(Linear()))
    'FE-Linear'
    >>> policy_title(ForcedExploration(Power(0.5), window=50))
    'ForcedExploration(Power(0.5), window=50)'
    """
    from brigand.policies.base import Policy
    from brigand.policies.catalogue import CATALOGUE
    from brigand.spec import importing_only

    if isinstance(policy, dict):
        kind = str(policy.get("type"))
        try:
            with importing_only(()):  # of a store, which may come from anywhere
                policy = Policy.from_json(policy)
        except BrigandError:
            return visible(kind)
    return next((name for name, known in CATALOGUE.items() if known == policy), None) or _short(policy)


def _short(spec: Spec) -> str:
    from dataclasses import fields

    from brigand.spec import Spec

    given = []
    for place, field in enumerate(fields(spec)):  # type: ignore[arg-type]
        value = getattr(spec, field.name)
        if value != field.default:
            shown = _short(value) if isinstance(value, Spec) else repr(value)
            given.append(shown if place == 0 and not field.kw_only else f"{field.name}={shown}")
    return visible(f"{type(spec).__name__}({', '.join(given)})")
