"""Write docs/errors.md: every clear error of the code, each as a test met it.

`pytest --ignore tests/test_fuzz.py --record-errors=errors.jsonl`, the same with `-m slow`, then
python tools/make_error_docs.py errors.jsonl`
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kbert_cli"
TARGET = ROOT / "docs" / "errors.md"
HEAD = """# Errors

<!-- Written by tools/make_error_docs.py from the code and from what the tests met. Do not edit. -->

What kbert says when it cannot go on: the message as the code has it (`{…}` stands for a value), and below it one that a
test met, with what to do next. Such an error ends the command with exit status 1; problems that can be told before any work
are told together.
"""


class Site(NamedTuple):
    """A place of the code where an error is made."""

    file: str
    line: int
    template: str


def sites() -> list[Site]:
    """All of them, in the order of the files and their lines."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "KbertError":
                file = str(path.relative_to(PACKAGE))
                found.append(Site(file, node.lineno, _template(node.args[0])))
    return sorted(found)


def _template(node: ast.expr) -> str:
    """The message of a call, with the expressions that fill it in braces."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_template(part) for part in parts)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.Call(func=ast.Name(id="at_line"), args=[path, line, reason]):
            return f"{{{ast.unparse(path)}}}:{{{ast.unparse(line)}}}: {_template(reason)}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _template(left) + _template(right)
    return f"{{{ast.unparse(node)}}}"


def documented() -> list[str]:
    """The headings of the page, which are the templates."""
    return re.findall(r"^\* `+ ?(.+?) ?`+$", TARGET.read_text(encoding="utf-8"), re.MULTILINE)


def heading(site: Site) -> str:
    """A template on one line, as the page has it."""
    return site.template.replace("\n", " ").strip()


def _shown(text: str) -> str:
    """A message without the folders of the machine it was met on."""
    text = re.sub(r"(?<![\w.])/(?:[^\s/:'\",]+/)+", "", text)
    lines = [line if len(line) <= 300 else f"{line[:300]} …" for line in text.splitlines()]
    return "\n".join(lines[:12])


def error_docs(met: dict[tuple[str, int], tuple[str, str]]) -> str:
    """The page.

    Args:
        met: file and line → message and hint.
    """
    return HEAD + "".join(_sections(met))


def _sections(met: dict[tuple[str, int], tuple[str, str]]) -> Iterator[str]:
    last = ""
    for site in sites():
        if site.file != last:
            last = site.file
            yield f"\n## kbert_cli/{site.file}\n"
        quote = "``" if "`" in site.template else "`"
        pad = " " if quote == "``" else ""
        yield f"\n* {quote}{pad}{heading(site)}{pad}{quote}\n"
        example = met.get((site.file, site.line))
        if example is None:
            yield "  (no test meets it)\n"
            continue
        lines = _shown("\n".join(filter(None, example))).splitlines()
        yield "\n  ```text\n" + "".join(f"  {line}".rstrip() + "\n" for line in lines) + "  ```\n"


def main() -> None:
    """Write the page from the record named on the command line."""
    met: dict[tuple[str, int], tuple[str, str]] = {}
    for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        key = (one["file"], one["line"])
        example = (one["what"], one["hint"])
        # The shortest, so that the page does not hang on the order of the tests.
        if key not in met or (len("".join(example)), example) < (len("".join(met[key])), met[key]):
            met[key] = example
    TARGET.write_text(error_docs(met), encoding="utf-8", newline="\n")
    missing = [site for site in sites() if (site.file, site.line) not in met]
    for site in missing:
        print(f"not met: {site.file}:{site.line}: {site.template}")


if __name__ == "__main__":
    main()
