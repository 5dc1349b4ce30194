"""A study's folder: what stands there that is not ours, is not replaced."""

import json

import pytest

import brigand as br
from brigand.studies.run import plan_study, run_study

STUDY = """\
name: {name}
horizon: 20
replications: 2
environments:
  - random: {{family: bernoulli, arms: 2}}
policies: [Random]
"""


@pytest.fixture
def variant(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY.format(name="mine"), encoding="utf-8")
    path = tmp_path / "variant.yaml"
    path.write_text(STUDY.format(name="variant"), encoding="utf-8")
    return path


@pytest.mark.parametrize("way", ["itself", "a link to the folder", "a link to the file"])
def test_another_study_is_not_replaced(tmp_path, variant, way):
    folder = tmp_path
    if way == "a link to the folder":
        folder = tmp_path / "link"
        folder.symlink_to(tmp_path)
    elif way == "a link to the file":
        folder = tmp_path / "out"
        folder.mkdir()
        (folder / "study.yaml").symlink_to(tmp_path / "study.yaml")
    for attempt in (run_study, plan_study):
        with pytest.raises(br.ResultFileError, match=r"study\.yaml' is in the way"):
            attempt(variant, folder)
    assert "mine" in (tmp_path / "study.yaml").read_text(encoding="utf-8")
    run_study(tmp_path / "study.yaml", tmp_path, workers=1)  # its own folder
    with pytest.raises(br.ResultFileError, match=r"study\.yaml' is in the way"):
        run_study(variant, folder)
    assert "mine" in (tmp_path / "study.yaml").read_text(encoding="utf-8")


def test_a_study_in_its_own_folder_stays_as_it_is(tmp_path, variant):
    content = STUDY.format(name="mine").replace("\n", "\r\n").encode()
    (tmp_path / "study.yaml").write_bytes(content)
    run_study(tmp_path / "study.yaml", tmp_path, workers=1)
    run_study(tmp_path / "study.yaml", tmp_path, workers=1)
    assert (tmp_path / "study.yaml").read_bytes() == content


def test_the_copy_of_an_earlier_version_is_replaced(tmp_path, variant):
    out = tmp_path / "out"
    run_study(variant, out, workers=1)
    variant.write_text(STUDY.format(name="variant").replace("20", "30"), encoding="utf-8")
    run_study(variant, out, workers=1)
    assert "30" in (out / "study.yaml").read_text(encoding="utf-8")
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    del manifest["copy"]  # as before
    (out / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    variant.write_text(STUDY.format(name="variant"), encoding="utf-8")
    run_study(variant, out, workers=1)
    assert "20" in (out / "study.yaml").read_text(encoding="utf-8")


def test_the_folder_of_a_study_of_another_name_is_not_taken(tmp_path, variant):
    out = tmp_path / "out"
    run_study(tmp_path / "study.yaml", out, workers=1)
    before = sorted((path, path.stat().st_mtime_ns) for path in out.rglob("*"))
    with pytest.raises(br.ResultFileError, match="holds the study 'mine', and this one is called 'variant'"):
        run_study(variant, out, workers=1)
    assert sorted((path, path.stat().st_mtime_ns) for path in out.rglob("*")) == before


def test_a_copy_that_was_edited_is_not_replaced(tmp_path, variant):
    out = tmp_path / "out"
    run_study(variant, out, workers=1)
    (out / "study.yaml").write_text(STUDY.format(name="edited"), encoding="utf-8")
    with pytest.raises(br.ResultFileError, match="is in the way"):
        run_study(variant, out, workers=1)
    run_study(out / "study.yaml", out, workers=1)  # it may be run from here
    assert br.load(out).name == "edited"


def test_a_manifest_of_something_else_is_not_replaced(tmp_path, variant):
    out = tmp_path / "out"
    out.mkdir()
    for content in ('{"name": "a web app"}', "[1]", "no JSON"):
        (out / "manifest.json").write_text(content, encoding="utf-8")
        with pytest.raises(br.ResultFileError, match=r"manifest\.json' is in the way"):
            run_study(variant, out, workers=1)
        assert (out / "manifest.json").read_text(encoding="utf-8") == content


@pytest.mark.parametrize("content", ["", '{"format": 2, "cells"'])
def test_a_damaged_manifest_is_written_anew(tmp_path, variant, content):
    out = tmp_path / "out"
    run_study(variant, out, workers=1)
    (out / "manifest.json").write_text(content, encoding="utf-8")
    run_study(variant, out, workers=1)
    assert br.load(out).name == "variant"
