"""The code of docs/client.md, run as a reader would, against a service that fails now and again."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from client.stub import AWAY, LOST, Service

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def service():
    faults = []
    made = Service(lambda: faults.pop(0) if faults else None)
    made.next_faults = faults
    made.bandits["button"] = ["red", "green"]
    with made.listening() as made.url:
        yield made


def run(service, folder, *arguments):
    environ = os.environ | {"BRIGAND_KEY": service.key}
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=folder, env=environ, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def written(service, folder, *texts):
    """Write a page's files and return the last one's name."""
    for text in texts:
        name = re.match(r"// (\w+\.mjs)\n", text)
        name = name[1] if name else "script.py"
        there = text.replace("http://localhost:8765", service.url).replace('"KEY"', json.dumps(service.key))
        # A crowded machine may take longer than a page may.
        (folder / name).write_text(there.replace("options, 200", "options, 20000"), encoding="utf-8")
    return name


def test_the_python_of_the_page(service, tmp_path):
    (code,) = blocks("python")
    code = code.replace('"BRIGAND_KEY"]', '"BRIGAND_KEY"], timeout=60')
    service.next_faults += [AWAY, LOST]
    printed = run(service, tmp_path, sys.executable, "-W", "error", written(service, tmp_path, code))
    assert printed == "green False greedy: it is the turn of green\n"
    assert service.rewards == {"1-d": [1.0]}
    assert service.requests[0][3]["unit"] == "user-123"


@pytest.mark.full
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_javascript_of_the_page(service, tmp_path):
    client, page = blocks("js")
    assert len(client.splitlines()) <= 22  # twenty lines, and their name
    service.next_faults += [LOST, AWAY, None, AWAY, LOST]
    script = written(service, tmp_path, client, page)
    assert run(service, tmp_path, "node", script) == "green\nrepeated\n"
    assert service.rewards == {"1-d": [1.0]}
    assert service.requests[0][3]["unit"] == "user-123"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_its_javascript_falls_back_and_says_what_is_refused(service, tmp_path):
    client, _ = blocks("js")
    script = """
        console.log((await ask("nothing", "red")).refused.title);
        console.log((await tell("button", "1-x", 1)).refused.title);
    """
    written(service, tmp_path, client + script)
    assert run(service, tmp_path, "node", "bandits.mjs") == "unknown name\nunknown decision\n"
    service.next_faults += [AWAY] * 1000
    (tmp_path / "away.mjs").write_text(
        client.replace("http://localhost:8765", service.url)
        + 'console.log(JSON.stringify(await ask("button", "red")));',
        encoding="utf-8",
    )
    assert json.loads(run(service, tmp_path, "node", "away.mjs")) == {"arm": "red", "is_fallback": True}


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_curl_of_the_page(service, tmp_path):
    (lines,) = blocks("console")
    service.next_faults += [None, AWAY]
    code = lines.replace("$ ", "").replace("http://localhost:8765", service.url)
    printed = run(service, tmp_path, "bash", "-e", "-c", code)
    assert json.loads(printed) == {"told": "added"}
    assert service.rewards == {"1-d": [1.0]}
    assert [given["request"] for *_, given in service.requests] == ["page-view-1", "purchase-1"]
