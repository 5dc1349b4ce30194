"""Try what `make release` built: each distribution in a fresh environment, outside of the checkout.

python tests/release.py dist/*
"""

import os
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMOKE = """
import brigand as br

env = br.Environment.stationary([br.Bernoulli(0.4), br.Bernoulli(0.6)])
res = br.simulate(env, {"FE": br.ForcedExploration(br.Linear()), "UCB1": br.UCB1(0, 1)}, 1000, 10)
assert (res.summary()["mean"] > 0).all()
res.plot("regret.png")
with br.Bandit(["a", "b"], "FE-Linear", store="sqlite:///shop.db", name="shop") as bandit:
    decision = bandit.ask()
    assert bandit.tell(decision.id, 1.0) == br.Told.LEARNED
with br.Bandit.open("sqlite:///shop.db", "shop") as bandit:
    assert len(bandit.history()) == 1
print(br.__version__, br.__file__)
"""
COMMANDS = (["--help"], ["policies"], ["errata"], ["bandit", "show", "shop", "--once", "--store", "shop.db"])


def attempt(distribution, version):
    """Install a distribution, use it, and check that it is that version and not the checkout."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environ |= {"MPLBACKEND": "agg", "XDG_CACHE_HOME": str(folder / "cache")}

        def run(*command):
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environ)
            if done.returncode:
                sys.exit(f"{distribution.name}: {command}\n{done.stdout}{done.stderr}")
            return done.stdout

        run(binaries / "python", "-m", "pip", "install", "--quiet", distribution.resolve())
        printed = run(binaries / "python", "-W", "error", "-c", SMOKE)
        assert printed.split()[0] == version, printed
        assert str(folder.resolve()) in printed, printed
        for arguments in COMMANDS:
            assert run(binaries / "brigand", *arguments).strip(), arguments


def main(paths):
    """Try each distribution, and say how long it took."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    kinds = sorted(path.name.removeprefix(f"brigand-{version}") for path in paths)
    if kinds != ["-py3-none-any.whl", ".tar.gz"]:
        sys.exit(f"a wheel and a source distribution of {version} are expected, not {[*map(str, paths)]}")
    for path in paths:
        start = time.perf_counter()
        attempt(path, version)
        print(f"{path.name}: installed and tried in {time.perf_counter() - start:.0f} s")
    if "(unreleased)" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        print("CHANGELOG.md says 'unreleased': write the date there before anything is uploaded")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
