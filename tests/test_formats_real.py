"""Real files through every format: rows in are rows read, and the content stays."""

import pytest
from try_formats import FILES, try_formats

from kbert_cli.corpus.convert import TARGETS
from kbert_cli.corpus.formats import FORMATS

from .conftest import ROOT


@pytest.mark.slow
def test_real_files_go_through_every_format(shared):
    tried = list(try_formats(shared / "data"))
    assert [one for one in tried if one.rows_in != one.rows_read or not one.same] == []
    assert {one.format for one in tried} == {*FORMATS} == {*TARGETS, "brat"}
    assert {one.file for one in tried} == {file for _, file, _ in FILES}


def test_the_table_of_formats_names_every_format_and_file():
    page = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
    for name in FORMATS:
        assert f"| `{name}` |" in page, name
    for _, file, _ in FILES:
        assert f"| {file} |" in page, file
