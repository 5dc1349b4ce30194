"""A real notebook: everything shows itself, and a picture is shown once."""

import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLE = Path(__file__).parents[1] / "examples" / "quickstart.ipynb"
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


def run(cells, folder):
    """Run cells in a kernel of this Python, and return what each shows, by kind."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def kinds(outputs):
    return [sorted(output.get("data", {"stream": ""})) for output in outputs]


def results_of(outputs):
    """Leave out the place of a progress bar that has gone: a slow machine shows one."""
    return [output for output in outputs if output.get("data", {}).get("text/html") != ""]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the cells of the example show, and those of what else is tried in the same kernel."""
    example = nbformat.read(EXAMPLE, as_version=4)
    cells = [cell.source for cell in example.cells if cell.cell_type == "code"]
    more = [
        "axes = results.plot(); results.plot(panels='mean');",
        "import matplotlib.pyplot as plt\nfigure, given = plt.subplots()\nresults.plot(ax=given);",
        "results._repr_html_(), plt.get_fignums()",
        "from brigand.display import progress_of\nimport time\nbar = progress_of(None, 'runs')\n"
        "time.sleep(0.6); bar(1, 4); time.sleep(0.15); bar(2, 4); bar(4, 4)",
    ]
    outputs = run([*cells, *more], tmp_path_factory.mktemp("notebook"))
    return outputs[: len(cells)], outputs[len(cells) :]


def test_the_example_shows_tables_figures_and_one_picture(shown):
    environment, policy, results, plot, bandit = map(results_of, shown[0])
    for outputs in (environment, policy, results, bandit):
        (output,) = outputs
        html = output["data"]["text/html"]
        assert "<table>" in html
        assert "<svg" in html
    assert kinds(plot) == [["image/png", "text/plain"]]


def test_each_picture_is_shown_once_whether_its_axes_are_new_or_given(shown):
    two, given, repr_, _ = shown[1]
    pictures = [["image/png", "text/plain"]]
    assert kinds(two) == 2 * pictures
    assert kinds(given) == pictures
    assert repr_[0]["data"]["text/plain"].endswith("[])")  # and none is left


def test_a_progress_bar_appears_and_goes(shown):
    (output,) = shown[1][3]
    assert output["data"]["text/html"] == ""


def test_the_example_is_kept_without_outputs():
    text = EXAMPLE.read_text(encoding="utf-8")
    assert '"outputs": []' in text
    assert not re.search(r'"execution_count": \d', text)
