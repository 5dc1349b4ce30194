"""``brigand bandit``: live bandits in a store, from the command line."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brigand import checks
from brigand.cli.bandit_text import find_policy, label, labels, policy_title, store_label, visible
from brigand.cli.console import confirm, make_console
from brigand.errors import InvalidValueError, ResultFileError, StorageError
from brigand.storage.place import store_url
from brigand.words import counted

if TYPE_CHECKING:
    from brigand.live.bandit import Bandit

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The bandit's name in the store.")]
Store = Annotated[
    str, typer.Option(envvar="BRIGAND_STORE", help="URL of the store, or the path of its SQLite file.")
]
By = Annotated[str | None, typer.Option(metavar="WHO", help="Who does it, for the audit.")]
Why = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the audit.")]
DEFAULT_STORE = "sqlite:///brigand.db"
_allowed: list[str] = []  # modules, for all commands of this process


@app.callback()
def bandit(
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE",
            envvar="BRIGAND_ALLOW",
            help="A module of yours that a stored policy needs, and that may be imported; give it before the "
            "command, several times for several. In the variable, spaces are between them.",
        ),
    ] = None,
) -> None:
    """Live bandits: ask for an arm, tell its reward.

    Any number of processes may use a store at once: on one machine if it is a file. Times are UTC.
    """
    _allowed[:] = allow or []


BECAME = {
    "learned": "learned",
    "repeated": "told before: nothing changed",
    "history": "kept for history: its arm was removed, its time was over, or it is another metric",
    "added": "added to the decision's reward, which is learned when its time is over",
    "replaced": "learned in the place of the reward that was told before",
}


@app.command()
def create(
    name: Name,
    arm: Annotated[list[str], typer.Option(help="An arm's name; once for each arm.")],
    policy: Annotated[
        str,
        typer.Option(
            help="A policy's name ('brigand policies'), its JSON form ('brigand policies --json'), or a file "
            "that holds that."
        ),
    ] = "FE-Linear",
    seed: Annotated[int | None, typer.Option(help="Of the policy's own choices. By default drawn.")] = None,
    horizon: Annotated[
        int | None, typer.Option(help="The most decisions that there will ever be; some policies need it.")
    ] = None,
    reward_timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="After this time, a default stands in for a missing reward."),
    ] = None,
    default_reward: Annotated[
        float | None, typer.Option(metavar="REWARD", help="The default; given with --reward-timeout.")
    ] = None,
    holdout: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Of asks that chance answers, so that 'gain' can be told."),
    ] = 0.0,
    floor: Annotated[
        float, typer.Option(metavar="PROBABILITY", help="The least that each arm is chosen with.")
    ] = 0.0,
    accumulate: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Rewards of a decision add up for so long, then they are learned."
        ),
    ] = None,
    units: Annotated[str, typer.Option(help="How units are kept: hashed or plain.")] = "hashed",
    store: Store = DEFAULT_STORE,
) -> None:
    """Make a bandit, and the store if it is not there.

    Your own policy ("type": "module:Class") is imported by each command: its folder must be in PYTHONPATH.
    """
    from brigand.live.bandit import Bandit

    bandit = Bandit(
        arm,
        find_policy(policy),
        store=store_url(store),
        name=name,
        seed=seed,
        horizon=horizon,
        reward_timeout=reward_timeout,
        default_reward=default_reward,
        holdout=holdout,
        floor=floor,
        accumulate=accumulate,
        units=units,
    )
    with closing(bandit):
        typer.echo(
            f"{label(name)} is in {store_label(store)}: {policy_title(bandit.policy)}, arms {labels(arm)}"
        )


@app.command()
def ask(
    name: Name,
    n: Annotated[int, typer.Option("-n", help="How many decisions.")] = 1,
    among: Annotated[
        list[str] | None, typer.Option(help="An arm that is available now; once for each. By default all.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Whom it is for: it gets its decision again until that has a reward."),
    ] = None,
    request: Annotated[
        str | None, typer.Option(help="A name of the request: asked again, it is the same decision.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line, with the numbers in the reason.")
    ] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Choose an arm. Prints the decision's id, the arm and the reason, between tabs.

    Tell the reward with the id: brigand bandit tell NAME ID REWARD.
    """
    with _opened(store, name) as bandit:
        if unit is None and request is None:
            decisions = bandit.ask(n, among=among or None)
        elif n == 1:
            decisions = [bandit.ask(among=among or None, unit=unit, request=request)]
        else:
            raise InvalidValueError("--unit and --request are for a single decision, without -n.")
    for made in decisions:
        if as_json:
            typer.echo(json.dumps(made.to_dict()))
        else:
            typer.echo(f"{made.id}\t{label(made.arm)}\t{visible(made.reason)}")


@app.command(context_settings={"ignore_unknown_options": True})  # so that a reward may be -1
def tell(
    name: Name,
    decision: Annotated[
        str | None, typer.Argument(metavar="ID", help="The decision's id, as ask printed it.")
    ] = None,
    reward: Annotated[str | None, typer.Argument(metavar="REWARD", help="A number.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Many rewards, all or none: CSV or Parquet with columns decision and reward."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Another metric than the reward, which the policy does not learn.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Correct the reward that was told before.")
    ] = False,
    request: Annotated[
        str | None,
        typer.Option(help="A name of the request, where rewards add up: again, it adds nothing."),
    ] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Tell the reward of a decision: in any order, at any time. Telling the same again changes nothing."""
    unknown = [given for given in (name, decision) if given is not None and given.startswith("--")]
    if unknown:
        raise InvalidValueError(f"no such option: {unknown[0]!r}; see brigand bandit tell --help.")
    if (decision is None) != (reward is None) or (decision is None) == (file is None):
        raise InvalidValueError("give a decision's id and its reward, or --file with many of them.")
    if file is not None and (metric is not None or replace or request is not None):
        raise InvalidValueError("--metric, --replace and --request are for one decision, not for a --file.")
    if file is not None:
        _tell_all(store, name, file)
    elif decision is not None and reward is not None:
        with _opened(store, name) as bandit:
            told = bandit.tell(decision, _reward(reward), metric=metric, replace=replace, request=request)
        typer.echo(BECAME[told])


def _reward(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidValueError(f"a reward is a number, not {text!r}.") from None


def _tell_all(store: str, name: str, file: Path) -> None:
    from brigand.cli.bandit_import import Bounds, read_rewards

    with stoppable("nothing was told"), _opened(store, name) as bandit:
        told = bandit.tell_many(read_rewards(file, Bounds.of(bandit)))
    counts = {key: sum(result == key for result in told) for key in BECAME}
    for key, text in BECAME.items():
        if counts[key] or key == "learned":
            typer.echo(f"{counts[key]:,} {text}")


@app.command()
def add_arm(
    name: Name,
    arm: Annotated[str, typer.Argument(metavar="ARM", help="The new arm's name.")],
    by: By = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Put a new arm into service; a name that was removed starts afresh."""
    with _opened(store, name) as bandit:
        bandit.add_arm(arm, by=by)
        typer.echo(f"{label(arm)} is in service now: arms {labels(bandit.arms())}")


@app.command()
def remove_arm(
    name: Name,
    arm: Annotated[str, typer.Argument(metavar="ARM", help="The arm's name.")],
    by: By = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Take an arm out of service: it is never chosen again, and rewards that still come are history."""
    with _opened(store, name) as bandit:
        bandit.remove_arm(arm, by=by)
        typer.echo(f"{label(arm)} is out of service now: arms {labels(bandit.arms())}")


@app.command()
def pause(name: Name, note: Why = "", by: By = None, store: Store = DEFAULT_STORE) -> None:
    """Choose no arms until 'resume'; rewards can be told."""
    with _opened(store, name) as bandit:
        bandit.pause(by=by, note=note)
        typer.echo(f"{label(name)} is {bandit.status}")


@app.command()
def resume(name: Name, note: Why = "", by: By = None, store: Store = DEFAULT_STORE) -> None:
    """Go on after 'pause'."""
    with _opened(store, name) as bandit:
        bandit.resume(by=by, note=note)
        typer.echo(f"{label(name)} is {bandit.status}")


@app.command()
def end(
    name: Name,
    arm: Annotated[str, typer.Argument(metavar="ARM", help="What every ask gets from now on.")],
    note: Why = "",
    by: By = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """End with an arm, for good: no decision is logged any more."""
    confirm(f"end {name!r} with {arm!r} for good", yes)
    with _opened(store, name) as bandit:
        bandit.end(arm, by=by, note=note)
        typer.echo(f"{label(name)} is {bandit.status}: every ask gets {label(arm)}")


@app.command()
def note(
    name: Name,
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    by: By = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Note something for the audit."""
    with _opened(store, name) as bandit:
        bandit.note(text, by=by)


@app.command()
def audit(name: Name, store: Store = DEFAULT_STORE) -> None:
    """Print who changed what and when: time, who, what, which arm and why, between tabs."""
    from brigand.live import status

    with _opened(store, name) as bandit:
        for row in status.audit(bandit):
            texts = (row["by"], row["action"], row["arm"], row["note"])
            typer.echo("\t".join([row["at"].isoformat(timespec="seconds"), *map(visible, texts)]))


@app.command()
def metrics(
    name: Name,
    level: Annotated[float, typer.Option(help="Of each interval.")] = 0.95,
    store: Store = DEFAULT_STORE,
) -> None:
    """Print other metrics than the reward by arm: number, mean and interval, between tabs."""
    from brigand.live.metrics import metrics as metrics_of

    with _opened(store, name) as bandit:
        found = metrics_of(bandit, level)
    for row in found:
        numbers = [f"{row[key]:.4g}" for key in ("mean", "lower", "upper")]
        typer.echo("\t".join([visible(row["metric"]), label(row["arm"]), f"{row['told']:,}", *numbers]))


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many.")] = 1000,
    after: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those that come after this name.")
    ] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """List the bandits in a store: their policies, the arms in service, how many decisions they made."""
    from brigand.cli.bandit_show import overview
    from brigand.live.listing import bandits

    limit = checks.integer("limit", limit, 1)
    with store_named():
        found = bandits(store, after, limit + 1)
    if found:
        console = make_console()
        console.print(overview(found[:limit], console.width))
        if len(found) > limit:
            typer.echo(f"There are more: --after {shlex.quote(visible(found[limit - 1].name))}")
    elif after is not None:
        typer.echo(f"No bandit in {store_label(store)} comes after {label(after)}")
    else:
        typer.echo(f"There is no bandit in {store_label(store)}; make one: brigand bandit create --help")


@app.command()
def show(
    name: Name,
    watch: Annotated[
        float, typer.Option(metavar="SECONDS", help="How often to read again, on a terminal.")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print once, as if there were no terminal.")] = False,
    level: Annotated[float, typer.Option(help="Of each arm's interval.")] = 0.95,
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="The range of the rewards, if it is known: intervals are exact then. By default that which "
            "the policy was told.",
        ),
    ] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show what is known of each arm, and keep it up to date until Ctrl-C."""
    seconds = checks.number("watch", watch, 0.05, 86_400)
    try:
        from brigand.cli import bandit_show

        console = make_console()
        with _opened(store, name) as bandit:
            view = bandit_show.View(bandit, name, level, support)
            # Not a terminal, also if FORCE_COLOR says so: that is for colours, and a pipe never ends.
            if once or not sys.stdout.isatty() or not console.is_terminal or console.is_dumb_terminal:
                console.print(view.draw(console.width))
            else:
                bandit_show.watch(console, view, seconds)
    except KeyboardInterrupt:
        return


@app.command()
def gain(
    name: Name,
    level: Annotated[float, typer.Option(help="Of the interval.")] = 0.95,
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="The range of the rewards, if the policy was not told it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Tell what a decision of the policy earns more than one by chance, by the bandit's holdout.

    The interval holds however often you look.
    """
    with stoppable("nothing was changed"), _opened(store, name) as bandit:
        found = bandit.gain(level=level, support=support)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
        return
    bounds = f"{found.lower:.3g} to {found.upper:.3g}" if math.isfinite(found.upper) else "none yet"
    typer.echo(f"gain  {found.gain:.3g} a decision, {100 * level:g} % interval ({found.interval}): {bounds}")
    typer.echo(f"the policy earned {found.earned:.3g} on average, by {counted(found.decisions, 'reward')}")
    typer.echo(f"chance earned {found.even:.3g} on average, by {counted(found.holdout, 'reward')}")


@app.command()
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Its name ends in .csv or .parquet.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Write all decisions with their reasons and rewards to a file. Times are ISO 8601, UTC."""
    from brigand.cli.bandit_export import write_history
    from brigand.logs.files import file_kind

    file_kind(file)
    if not force and os.path.exists(file):
        raise ResultFileError(f"{str(file)!r} is there already; --force replaces it.")
    with (
        stoppable("nothing was written"),
        _opened(store, name) as bandit,
        make_console().status("writing") as status,
    ):
        done = write_history(bandit, file, lambda n: status.update(f"writing: {counted(n, 'decision')}"))
    typer.echo(f"{counted(done, 'decision')} are in {visible(str(file))}")


@app.command()
def report(
    name: Name,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="By default the bandit's name, with .html.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Write a report to print or send: one HTML file that needs no other."""
    checks.package("jinja2", "reports need Jinja2: pip install jinja2.")
    from brigand.dashboard import pages, view
    from brigand.files import atomic

    file = out or Path(f"{''.join(c if c.isalnum() or c in '-_ ' else '_' for c in name)[:100]}.html")
    if not force and os.path.exists(file):
        raise ResultFileError(f"{str(file)!r} is there already; --force replaces it.")
    with stoppable("nothing was written"), _opened(store, name) as bandit:
        watch = view.Watch(bandit, name)
        html = pages.report(
            view.view_of(watch, watch.gain(), watch.counted()), [view.latest(bandit, 20, None)]
        )
        with atomic(file) as temporary:
            temporary.write_text(html, encoding="utf-8", errors="replace")
    typer.echo(f"the report on {label(name)} is in {visible(str(file))}")


@app.command("import")
def import_(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or Parquet; an export, for instance.")],
    store: Store = DEFAULT_STORE,
) -> None:
    """Take in decisions that were made elsewhere, all or none: a bandit starts with what you know already.

    Columns: arm, in service; reward, empty if it is still to come; and if you have them asked_at and told_at,
    ISO 8601 or seconds since 1970, and propensity. Other columns are ignored.
    """
    from brigand.cli.bandit_import import Bounds, read_past

    with (
        stoppable("nothing was imported"),
        _opened(store, name) as bandit,
        make_console().status("reading") as status,
    ):
        past = read_past(file, Bounds.of(bandit))
        status.update(f"learning from {counted(len(past), 'decision')}")
        bandit.record(past)
    typer.echo(f"{counted(len(past), 'decision')} from {visible(str(file))} are in {label(name)} now")


@app.command()
def copy(
    name: Name,
    to: Annotated[str, typer.Option(help="URL of the other store, or the path of its SQLite file.")],
    new_name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Its name there. By default the same.")
    ] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Copy a bandit into another store: its decisions with their ids and rewards, and its state.

    To move it, let nobody use it, copy, and delete it here. What the copy decides next has ids of its own.
    """
    from brigand.live.stores import copy

    with stoppable("nothing was copied"), store_named(), make_console().status("copying"):
        events = copy(store, name, to, new_name)
    typer.echo(f"{label(new_name or name)} is in {store_label(to)} now, with {counted(events, 'event')}")


@app.command()
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Delete a bandit and all of its decisions, for good."""
    from brigand.live.stores import delete

    confirm(f"delete {name!r} with all of its decisions", yes)
    with store_named():
        delete(store, name)
    typer.echo(f"{label(name)} is not in {store_label(store)} any more")


@app.command()
def prune(
    name: Name,
    before: Annotated[str, typer.Option(help="ISO 8601, UTC, or seconds since 1970.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Drop decisions that were made before a time, with their rewards, for good; what was learned stays.

    No reward can be told to them any more. For some policies the bandit takes no new arms afterwards.
    """
    from brigand.cli.bandit_import import time_of

    time = time_of(before)
    confirm(f"drop the decisions of {name!r} that were made before {before}", yes)
    with stoppable("what is left to drop goes with the next prune"), _opened(store, name) as bandit:
        dropped = bandit.prune(time)
    typer.echo(f"{counted(dropped, 'decision')} of {label(name)} were dropped")


@contextmanager
def _opened(store: str, name: str) -> Iterator[Bandit]:
    from brigand.live.bandit import Bandit

    with store_named():
        opened = Bandit.open(store_url(store), name, allow=_allowed)
    with closing(opened) as bandit:
        yield bandit


@contextmanager
def store_named() -> Iterator[None]:
    """Say how a store is named, if there is none."""
    try:
        yield
    except StorageError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        raise StorageError(
            f"{error} Give the store with --store or in $BRIGAND_STORE; brigand bandit create makes one."
        ) from None


@contextmanager
def stoppable(outcome: str) -> Iterator[None]:
    """Let Ctrl-C end something, with its outcome."""
    try:
        yield
    except KeyboardInterrupt:
        make_console(stderr=True).print(f"Stopped; {outcome}.")
        raise typer.Exit(130) from None
