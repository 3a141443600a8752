"""Compiled graphs against graphs in memory; sources of every form; nothing half-made or damaged."""

import bz2
import gzip
import io
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.errors import KbertError
from kbert_cli.kg import table_builder
from kbert_cli.kg.build import build_graph
from kbert_cli.kg.catalog import open_graph
from kbert_cli.kg.compiled import CompiledGraph
from kbert_cli.kg.graph import MemoryGraph, MergedGraph
from kbert_cli.kg.manifest import _seal
from kbert_cli.kg.select import select_triples
from kbert_cli.kg.settings import BuildSettings
from kbert_cli.kg.sources import SourceFormat
from kbert_cli.kg.triples import Triple
from kbert_cli.reporting import Reporter

from .conftest import run_kbert


def build(folder, sources, name="graph", **settings):
    aliases = settings.pop("aliases", None)
    build_graph(sources, folder / name, BuildSettings(**settings), Reporter(), aliases=aliases)
    return CompiledGraph(folder / name)


def spo(folder, triples, name="kg.spo"):
    path = folder / name
    path.write_text("".join("\t".join(triple) + "\n" for triple in triples), encoding="utf-8")
    return path


NAME = st.text("头痛高血压ＡaB1", min_size=1, max_size=4)


@given(st.lists(st.tuples(NAME, st.sampled_from(["类别", "症状"]), NAME), min_size=1, max_size=40))
def test_compiled_and_in_memory_are_the_same_graph(tmp_path_factory, triples):
    folder = tmp_path_factory.mktemp("graph")
    memory = MemoryGraph(Triple(*triple) for triple in triples)
    compiled = build(folder, [spo(folder, triples)])
    assert len(compiled) == len(memory)
    assert compiled.subject_count == memory.subject_count
    assert sorted(compiled.subjects()) == sorted(memory.subjects())
    assert sorted(compiled) == sorted(memory)
    for name in [*memory.subjects(), "缺"]:
        assert list(compiled.triples_of(name)) == list(memory.triples_of(name))
    text = "头痛高血压aab1头痛"
    for start in range(len(text)):
        for ends in (range(start + 1, len(text) + 1), range(start + 2, len(text) + 1, 2)):
            expected = memory.longest_name(text, start, set(ends))
            assert compiled.longest_name(text, start, set(ends)) == expected


def test_records_longer_than_a_read_come_whole_and_in_order(tmp_path):
    triples = [("大户", "含", f"第{number}项" * (number % 7 + 1)) for number in range(5_000)]
    triples += [("长", "含", "很长" * 200_000), ("尾", "含", "末")]
    graph = build(tmp_path, [spo(tmp_path, triples)])
    for name in ("大户", "长", "尾"):
        found = [tuple(triple) for triple in graph.triples_of(name)]
        assert found == [triple for triple in triples if triple[0] == name]


def test_parts_change_nothing(tmp_path, monkeypatch):
    chance = random.Random(1)
    names = ["".join(chance.choices("甲乙丙丁戊己庚辛", k=3)) for _ in range(400)]
    triples = [(chance.choice(names), "关系", chance.choice(names)) for _ in range(3_000)]
    path = spo(tmp_path, triples)
    whole = build(tmp_path, [path], "whole")
    monkeypatch.setattr(table_builder, "PART_BYTES", 512)
    monkeypatch.setattr(table_builder, "_BUFFERED", 100)
    parted = build(tmp_path, [path], "parted")
    assert parted.content_hash == whole.content_hash
    assert all(list(parted.triples_of(n)) == list(whole.triples_of(n)) for n in whole.subjects())


def test_a_hub_is_cut_at_the_cap_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(table_builder, "LINE_CAP", 10)
    graph = build(tmp_path, [spo(tmp_path, [("中心", "含", f"{i}") for i in range(25)])])
    assert [triple.object for triple in graph.triples_of("中心")] == [str(i) for i in range(10)]
    assert graph.manifest.counts["capped"] == 15


ROWS = [("头痛", "类别", "症状"), ("高血压", "类别", "疾病"), ("高血压", "表现", '头"晕, 痛')]
LINES = "".join("\t".join(row) + "\n" for row in ROWS).encode()
CSV = '实体,属性,值\n头痛,类别,症状\n高血压,类别,疾病\n高血压,表现,"头""晕, 痛"\n'.encode()
NT = r"""# N-Triples
<http://x.org/resource/%E5%A4%B4%E7%97%9B> <http://x.org/p#类别> <http://x.org/r/症状> .
<http://x.org/r/高血压> <http://x.org/p#类别> "\u75BE\u75C5"@zh .
<http://x.org/r/高血压> <http://x.org/p#表现> "头\"晕, 痛" . # end
""".encode()
JSONL = (
    '{"subject": "头痛", "predicate": "类别", "object": "症状"}\n'
    '{"s": "高血压", "p": "类别", "o": ["疾病"]}\n\n'
    '{"h": "高血压", "r": "表现", "t": "头\\"晕, 痛"}\n'
).encode()
REORDERED = "".join(f"{o} ||| {s} ||| 多余 ||| {p}\n" for s, p, o in ROWS).encode()


@pytest.mark.parametrize(
    ("name", "content", "settings"),
    [
        ("kg.tsv", LINES, {}),
        ("kg.csv", CSV, {}),
        ("kg.csv", CSV.split(b"\n", 1)[1], {}),
        ("kg.nt", NT, {}),
        ("kg.jsonl", JSONL, {}),
        ("kg.data", JSONL, {"format": "jsonl"}),
        ("kg.txt", REORDERED, {"delimiter": " ||| ", "columns": ("o", "s", "-", "p")}),
        ("kg.spo", LINES.decode().encode("gb18030"), {"encoding": "gb18030"}),
        ("kg.spo", LINES.decode().encode("utf-16"), {"encoding": "utf-16"}),
        ("kg.spo", b"\xef\xbb\xbf" + LINES, {}),
        (
            "kg.spo",
            "值\t实体\t属性\n".encode() + b"".join(f"{o}\t{s}\t{p}\n".encode() for s, p, o in ROWS),
            {},
        ),
        ("kg.spo.gz", gzip.compress(LINES, mtime=0), {}),
        ("kg.csv.bz2", bz2.compress(CSV), {}),
        ("kg.nt.zst", zstandard.compress(NT), {}),
    ],
)
def test_every_form_of_a_source_gives_the_same_triples(tmp_path, name, content, settings):
    path = tmp_path / name
    path.write_bytes(content)
    graph = build(tmp_path, [path], source=SourceFormat(**settings))
    assert [tuple(t) for n in ("头痛", "高血压") for t in graph.triples_of(n)] == ROWS
    assert not graph.manifest.sources[0].rejected


def test_a_damaged_archive_is_a_clear_error_and_leaves_nothing(tmp_path):
    (tmp_path / "kg.spo.gz").write_bytes(gzip.compress(LINES * 100, mtime=0)[:-20])
    with pytest.raises(KbertError, match=r"kg\.spo\.gz"):
        build(tmp_path, [tmp_path / "kg.spo.gz"])
    assert [path.name for path in tmp_path.iterdir()] == ["kg.spo.gz"]


def test_filters(tmp_path):
    triples = [
        ("头痛", "类别", "症状"),
        ("头痛", "描述", "头部的疼痛"),
        ("头痛", "出处", "书"),
        ("头", "类别", "部位"),
        ("一个很长的名字啊", "类别", "怪"),
        ("发热", "类别", "很长的一个对象"),
        ("的确", "类别", "虚词"),
    ]
    graph = build(
        tmp_path,
        [spo(tmp_path, triples)],
        exclude_predicates=("出处",),
        description_predicates=("描述",),
        min_subject_length=2,
        max_subject_length=6,
        max_object_length=5,
        stop_names=("的确",),
    )
    assert [tuple(triple) for triple in graph] == [("头痛", "类别", "症状")]
    assert graph.description_of("头痛") == "头部的疼痛"
    assert graph.description_of("发热") is None
    assert graph.manifest.sources[0].filtered == 5
    only = build(tmp_path, [tmp_path / "kg.spo"], "only", include_predicates=("出处",))
    assert [triple.object for triple in only] == ["书"]


def test_aliases_lead_to_the_triples_of_their_entities(tmp_path):
    triples = [("高血压", "类别", "疾病"), ("血压", "类别", "指标"), ("高血压病", "又名", "高血压")]
    table = tmp_path / "mention2entity.txt"
    table.write_text(
        "血压高\t高血压\n血压\t高血压\n血压高\t血压\n缺\t没有的\n高血压\t高血压\n", encoding="utf-8"
    )
    graph = build(tmp_path, [spo(tmp_path, triples)], aliases=table)
    assert [t.object for t in graph.triples_of("血压高")] == ["疾病", "指标"]
    assert [t.object for t in graph.triples_of("血压")] == ["指标", "疾病"]
    assert graph.longest_name("血压高了", 0, {2, 3, 4}) == 3
    assert graph.entities_of("血压高") == ["高血压", "血压"]
    assert graph.manifest.counts["aliases_without_entity"] == 1
    plain = build(tmp_path, [tmp_path / "kg.spo"], "plain")
    assert plain.content_hash != graph.content_hash
    table.write_text("一列\n", encoding="utf-8")
    with pytest.raises(KbertError, match=r"mention2entity\.txt:1: a mention table has two columns"):
        build(tmp_path, [tmp_path / "kg.spo"], "bad", aliases=table)


def test_traditional_spellings_are_found_as_simplified_ones(tmp_path):
    graph = build(tmp_path, [spo(tmp_path, [("頭痛", "類別", "症狀")])], simplified=True)
    assert graph.key("頭痛了") == "头痛了"
    for text in ("头痛", "頭痛"):
        assert [tuple(triple) for triple in graph.triples_of(text)] == [("頭痛", "類別", "症狀")]
    assert CompiledGraph(graph.folder).key("頭") == "头"


def test_selection_policies(tmp_path):
    triples = [
        ("苹果", "类别", "水果"),
        ("苹果", "产地", "山东"),
        ("苹果", "公司", "电脑公司"),
        *((f"物{number}", "类别", "水果") for number in range(9)),
        *((f"地{number}", "产地", f"省{number}") for number in range(9)),
    ]
    for graph in (
        build(tmp_path, [spo(tmp_path, triples)]),
        MemoryGraph(Triple(*triple) for triple in triples),
    ):

        def chosen(policy, text, graph=graph):
            return [t.object for t in select_triples(policy, graph, "苹果", text)]

        assert chosen("first", "苹果") == ["水果", "山东", "电脑公司"]
        assert chosen("rare", "苹果") == ["电脑公司", "山东", "水果"]
        assert chosen("similar", "苹果是家电脑公司") == ["电脑公司", "水果", "山东"]
        assert chosen("similar", "苹果") == ["水果", "山东", "电脑公司"]


def test_merged_graphs_keep_the_order_of_the_sources(tmp_path):
    one = MemoryGraph([Triple("甲", "是", "一"), Triple("乙", "是", "二")])
    two = build(
        tmp_path, [spo(tmp_path, [("甲", "是", "三"), ("甲", "是", "一"), ("丙丁", "是", "四")])]
    )
    merged = MergedGraph([one, two])
    assert [t.object for t in merged.triples_of("甲")] == ["一", "三"]
    assert sorted(merged.subjects()) == ["丙丁", "乙", "甲"]
    assert merged.longest_name("丙丁", 0, {1, 2}) == 2
    assert MergedGraph([two, one]).content_hash != merged.content_hash


def test_a_graph_pickles_as_its_path(tmp_path):
    graph = build(tmp_path, [spo(tmp_path, ROWS)])
    value = pickle.dumps(graph)
    assert len(value) < 500
    assert list(pickle.loads(value).triples_of("头痛")) == list(graph.triples_of("头痛"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "triples.trie").write_bytes(b"x" * 4096), "has 4,096 bytes"),
        (lambda folder: flip(folder / "triples.trie"), "has other content"),
        (lambda folder: flip(folder / "triples.records"), "has other content"),
        (lambda folder: (folder / "triples.offsets").unlink(), "is missing"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "not valid JSON"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "is no compiled graph"),
        (lambda folder: edit(folder / "manifest.json", version=99), "format 99"),
        (lambda folder: edit(folder / "manifest.json", sources=[{}]), "is damaged"),
        (lambda folder: edit(folder / "manifest.json", files={}), "it lacks triples.trie"),
        (
            lambda folder: edit(
                folder / "manifest.json",
                files=json.loads((folder / "manifest.json").read_text())["files"]
                | {"../x": {"bytes": 0, "sha256": ""}},
            ),
            "names files elsewhere: ../x",
        ),
    ],
)
def test_a_damaged_or_foreign_graph_is_never_mapped(tmp_path, change, message):
    folder = build(tmp_path, [spo(tmp_path, ROWS)]).folder
    change(folder)
    with pytest.raises(KbertError, match=message):
        CompiledGraph(folder)
    done = run_kbert("kg", "info", folder, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)


def edit(path, **changes):
    # Sealed again, as somebody who knows how would.
    value = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(value | {"seal": _seal(value)}))


def test_verify_looks_at_the_content_whatever_the_times_say(kbert, tmp_path):
    folder = build(tmp_path, [spo(tmp_path, ROWS)]).folder
    assert kbert("kg", "verify", folder).returncode == 0
    flip(folder / "objects.counts")
    done = kbert("kg", "verify", folder)
    assert done.returncode == 1
    assert "objects.counts has other content" in done.stderr


def test_a_killed_build_leaves_nothing_and_the_next_gives_the_same_graph(tmp_path):
    chance = random.Random(2)
    triples = [(f"名{chance.randrange(60_000)}", "是", f"物{i}") for i in range(300_000)]
    path = spo(tmp_path, triples)
    home = tmp_path / "graphs"
    home.mkdir()
    command = [sys.executable, "-m", "kbert_cli", "kg", "build", path, "--output", home / "big"]
    for kill, status in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
        # Whoever runs the tests in the background may have had Ctrl-C ignored.
        process = subprocess.Popen(
            command,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        while not any(home.glob(f".building-{process.pid}-*/*.parts/*")):
            time.sleep(0.01)
        process.send_signal(kill)
        assert process.wait() == status
        assert not (home / "big").exists()
    done = subprocess.run(command, check=True, capture_output=True)
    assert b"built" in done.stdout
    assert [one.name for one in home.iterdir()] == ["big"]
    again = build(tmp_path, [path], "again")
    assert CompiledGraph(home / "big").content_hash == again.content_hash


def test_a_file_is_compiled_once_and_found_again_by_content(kbert, tmp_path):
    spo(tmp_path, ROWS)
    home = {"KBERT_HOME": str(tmp_path / "home")}
    first = kbert("kg", "show", "kg.spo", "头痛", **home)
    assert first.returncode == 0, first.stderr
    assert "compiling this graph, once" in first.stderr
    assert "症状" in first.stdout
    assert "compiling" not in kbert("kg", "show", "kg.spo", "头痛", **home).stderr
    (tmp_path / "copy.spo").write_bytes((tmp_path / "kg.spo").read_bytes())
    assert "compiling" not in kbert("kg", "show", "copy.spo", "头痛", **home).stderr
    spo(tmp_path, [*ROWS, ("头痛", "部位", "头")])
    changed = kbert("kg", "show", "kg.spo", "头痛", **home)
    assert "compiling" in changed.stderr
    assert "部位" in changed.stdout


def test_a_home_that_cannot_be_written_is_replaced_with_a_note(kbert, tmp_path):
    spo(tmp_path, ROWS)
    (tmp_path / "file").write_text("no folder")
    done = kbert(
        "kg", "show", "kg.spo", "头痛", KBERT_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "cannot be written: compiled graphs go to" in done.stderr


def test_two_processes_may_compile_the_same_graph_at_once(tmp_path):
    triples = [(f"名{i}", "是", f"物{i}") for i in range(30_000)]
    spo(tmp_path, triples)
    command = [sys.executable, "-m", "kbert_cli", "kg", "show", "kg.spo", "名7", "-q"]
    environment = {**os.environ, "KBERT_HOME": str(tmp_path / "home")}
    running = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in running:
        assert "物7".encode() in process.communicate()[0]
        assert process.returncode == 0
    assert not list((tmp_path / "home/compiled").glob(".building-*"))


def test_named_graphs_from_build_to_use(kbert, tmp_path):
    spo(tmp_path, [*ROWS, ("头痛", "类别"), ("头痛", "类别", "症状"), ("痛", "是", "痛")])
    home = {"KBERT_HOME": str(tmp_path / "home")}
    built = kbert("kg", "build", "kg.spo", "--name", "mine", "--licence", "CC0", "--json", **home)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["triples"] == 3
    assert "1 lines hold no triple, the first is line 4" in built.stderr
    assert "exists already" in kbert("kg", "build", "kg.spo", "--name", "mine", **home).stderr
    forced = kbert("kg", "build", "kg.spo", "--name", "mine", "--force", "--json", **home)
    assert json.loads(forced.stdout)["hash"] == json.loads(built.stdout)["hash"]
    listed = json.loads(kbert("kg", "list", "--json", **home).stdout)
    assert {"mine", "medical"} <= {one["name"] for one in listed}
    info = json.loads(kbert("kg", "info", "mine", "--json", **home).stdout)
    assert info["counts"]["triples"] == 3
    assert info["triples_a_subject"] == {"median": 1, "p99": 2, "largest": 2}
    assert info["top_predicates"] == {"类别": 3, "表现": 1}
    assert kbert("kg", "search", "mine", "高", **home).stdout == "高血压\n"
    tree = kbert("inspect-tree", "高血压病人", "--kg", "mine", "--format", "json", **home)
    assert "疾病" in tree.stdout
    for bad in ("a/b", "medical", ".hidden"):
        refused = kbert("kg", "build", "kg.spo", "--name", bad, **home)
        assert refused.returncode == 1
    stdin = kbert("kg", "build", "-", "--name", "piped", "--json", stdin=LINES.decode(), **home)
    assert json.loads(stdin.stdout)["triples"] == 3


def test_check_names_every_kind_of_fault(kbert, tmp_path):
    path = tmp_path / "kg.spo"
    path.write_text(
        "头痛\t类别\t症状\n头痛\t类别\t症状\n甲,类别,乙\n丙\t\t丁\n痛\t是\t痛\n头\t类别\t部位\n"
        + "长" * 40
        + "\t类别\t症状\n",
        encoding="utf-8",
    )
    found = json.loads(kbert("kg", "check", "kg.spo", "--json").stdout)[0]
    assert (found["rows"], found["triples"], found["rejected"]) == (7, 3, 2)
    assert (found["duplicates"], found["self_loops"]) == (1, 1)
    assert (found["one_character_subjects"], found["overlong_subjects"]) == (1, 1)
    assert [bad["line"] for bad in found["first_rejected"]] == [3, 4]
    assert "',' would give 3" in found["first_rejected"][0]["reason"]
    shown = kbert("kg", "check", "kg.spo")
    assert "kg.spo:4: empty predicate" in shown.stdout
    assert kbert("kg", "check", "kg.spo", "--strict").returncode == 1
    spo(tmp_path, ROWS)
    assert kbert("kg", "check", "kg.spo", "--strict").returncode == 0


def test_coverage_counts_what_the_trees_hold(kbert, tmp_path):
    spo(tmp_path, ROWS)
    (tmp_path / "notes.txt").write_text("患者头痛，高血压。\n\n无\n高血压\n", encoding="utf-8")
    found = json.loads(kbert("kg", "coverage", "kg.spo", "notes.txt", "--json").stdout)
    assert (found["texts"], found["with_mention"], found["mentions"]) == (3, 2, 3)
    assert found["branches"] == 5
    assert found["names"] == {"高血压": 2, "头痛": 1}
    assert found["predicates"] == {"类别": 3, "表现": 2}
    assert found["over_length"] == 0
    short = kbert("kg", "coverage", "kg.spo", "notes.txt", "--max-length", "12", "--json")
    assert json.loads(short.stdout)["over_length"] == 2
    (tmp_path / "data.tsv").write_text("label\ttext_a\n1\t头痛\n0\t好\n", encoding="utf-8")
    assert json.loads(kbert("kg", "coverage", "kg.spo", "data.tsv", "--json").stdout)["texts"] == 2
    none = kbert("kg", "coverage", "kg.spo", "-", stdin="今天\n")
    assert "it cannot help here" in none.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--columns", "s,o"), "must name s, p and o once each"),
        (("--encoding", "klingon"), "not known to Python"),
        (("--encoding", "ascii"), "kg.spo:1: not ASCII (byte 0xe5)"),
        (("--delimiter", ","), "none of its 3 rows is a triple"),
        (("--format", "csv", "--delimiter", "||"), "csv takes one character"),
        (("--stop-list", "missing.txt"), "cannot read missing.txt"),
    ],
)
def test_wrong_options_are_named(kbert, tmp_path, options, message):
    spo(tmp_path, ROWS)
    done = kbert("kg", "build", "kg.spo", "--output", "out", *options)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_stream_of_zstandard_frames_is_read_to_its_end(tmp_path):
    stream = io.BytesIO(zstandard.compress(LINES[:30]) + zstandard.compress(LINES[30:]))
    (tmp_path / "kg.spo.zst").write_bytes(stream.getvalue())
    assert len(build(tmp_path, [tmp_path / "kg.spo.zst"])) == 3


def test_open_graph_merges_and_reports(tmp_path):
    one, two = spo(tmp_path, ROWS), spo(tmp_path, [("头痛", "部位", "头"), ("坏",)], "b.spo")
    opened = open_graph([str(one), str(two)])
    assert [t.object for t in opened.graph.triples_of("头痛")] == ["症状", "头"]
    assert [report.rejected_count for report in opened.reports] == [0, 1]


def test_coverage_reads_tables_as_what_they_are(kbert, tmp_path):
    (tmp_path / "kg.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    table = "text_a\tlabel\n头 痛 3 天\tB-X I-X O O\n今 天\tO O\n"
    (tmp_path / "ner.tsv").write_text(table, encoding="utf-8")
    for source in (("ner.tsv", {}), ("-", {"stdin": table})):
        found = kbert("kg", "coverage", "kg.spo", source[0], "--json", **source[1])
        figures = json.loads(found.stdout)
        assert (figures["texts"], figures["with_mention"]) == (2, 1)


@pytest.mark.parametrize(
    ("name", "content", "reasons"),
    [
        ("a.spo", "高血压\0甲\t类别\t疾病\n头痛\t类别\t症状\n", {1: "a NUL character"}),
        ("a.nt", '<a> <b> "\\U00110000" .\n<a> <b> "c" .\n', {1: "stands for no character"}),
        ("b.nt", '<a> <b> "\\uD800" .\n<a> <b> "c" .\n', {1: "half of a character"}),
        (
            "a.jsonl",
            '{"s": "a", "p": "b", "o": []}\n{"s": "a", "p": "b", "o": true}\n'
            '{"s": "a", "p": "b", "o": 1e400}\n{"s": "a", "p": "b", "o": "\\ud800"}\n'
            + "[" * 100_000
            + '\n{"s": "a", "p": "b", "o": 1}\n',
            {1: "is empty", 2: "text or numbers", 3: "text or numbers", 4: "half", 5: "no JSON"},
        ),
        (
            "a.csv",
            '实体,属性,值\na,b,c\nd,e\nf,g,"h\ni,j,k\n',
            {3: "2 columns", 4: "no csv: unexpected end of data (lines 4 to 5)"},
        ),
    ],
)
def test_rows_that_no_text_can_be_are_named(kbert, tmp_path, name, content, reasons):
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    done = kbert("kg", "check", name, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[0]
    rejected = {one["line"]: one["reason"] for one in found["first_rejected"]}
    assert list(rejected) == list(reasons)
    assert all(reasons[line] in reason for line, reason in rejected.items())
    built = kbert("kg", "build", name, "--output", "g", "--json")
    counts = json.loads(built.stdout)
    assert (counts["triples"], counts["rejected"]) == (1, len(reasons))


def test_force_replaces_graphs_and_nothing_else(kbert, tmp_path):
    (tmp_path / "kg.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("x", encoding="utf-8")
    for place in ("precious", "kg.spo"):
        done = kbert("kg", "build", "kg.spo", "--output", place, "--force")
        assert (done.returncode, "is no graph" in done.stderr) == (1, True)
    assert (precious / "thesis.txt").read_text(encoding="utf-8") == "x"
    assert kbert("kg", "build", "kg.spo", "--output", "g").returncode == 0
    assert kbert("kg", "build", "kg.spo", "--output", "g", "--force").returncode == 0


@pytest.mark.parametrize("name", ["none", "-", "a\nb", "长" * 100, "a/b"])
def test_names_that_would_be_unreachable_are_refused(kbert, tmp_path, name):
    (tmp_path / "kg.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    done = kbert("kg", "build", "kg.spo", "--name", name)
    assert (done.returncode, "cannot be the name of a graph" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "change", [{"longest_name": 0}, {"files": {"x": {}}}, {"counts": []}, {"version": "1"}]
)
def test_a_manifest_that_was_changed_is_refused_and_the_others_listed(kbert, tmp_path, change):
    home = {"KBERT_HOME": str(tmp_path / "home")}
    (tmp_path / "kg.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    for name in ("good", "bad"):
        assert kbert("kg", "build", "kg.spo", "--name", name, **home).returncode == 0
    path = tmp_path / "home/graphs/bad/manifest.json"
    value = json.loads(path.read_text(encoding="utf-8")) | change
    path.write_text(json.dumps(value), encoding="utf-8")
    for command in ("info", "verify"):
        done = kbert("kg", command, "bad", **home)
        assert done.returncode == 1
        assert "bug" not in done.stderr
    listed = kbert("kg", "list", **home)
    assert (listed.returncode, "good" in listed.stdout) == (0, True)
    assert "Warning" in listed.stderr


def test_a_damaged_cache_is_compiled_anew(kbert, tmp_path):
    home = {"KBERT_HOME": str(tmp_path / "home")}
    first = kbert("kg", "show", "medical", "高血压", **home)
    for path in (tmp_path / "home/compiled").glob("*/triples.records"):
        path.write_bytes(b"x")
    again = kbert("kg", "show", "medical", "高血压", **home)
    assert again.stdout == first.stdout
    assert "compiling it anew" in again.stderr


def test_pipes_are_read_and_an_empty_graph_is_said(kbert, tmp_path):
    (tmp_path / "kg.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("头痛\t类别\t症状\n", "utf-8"))
    writer.start()
    done = kbert("kg", "build", "pipe", "--output", "g", "--json")
    writer.join()
    assert json.loads(done.stdout)["triples"] == 1
    hung = kbert("inspect-tree", "头痛", "--kg", "pipe")
    assert (hung.returncode, "is no regular file" in hung.stderr) == (1, True)
    (tmp_path / "empty.spo").write_text("", encoding="utf-8")
    empty = kbert("kg", "build", "empty.spo", "--output", "e")
    assert "the graph is empty" in empty.stderr
    assert kbert("kg", "check", "").returncode == 1


@pytest.mark.parametrize("encoding", ["undefined", "rot13", "nonsense"])
def test_encodings_that_are_none_are_refused(kbert, tmp_path, encoding):
    (tmp_path / "kg.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    done = kbert("kg", "build", "kg.spo", "--output", "g", "--encoding", encoding)
    assert (done.returncode, "is not known to Python" in done.stderr) == (1, True)


def test_the_encoding_that_would_fit_is_named(kbert, tmp_path):
    text = "高血压\t类别\t疾病\n我的头痛\t是\t这个症状\n" * 5
    unmarked = text.encode("utf-16-le")
    for content, named, alias in (
        (text.encode("gbk"), "gb18030", "GBK"),
        (unmarked, "utf-16", "U16"),
    ):
        (tmp_path / "kg.spo").write_bytes(content)
        done = kbert("kg", "build", "kg.spo", "--output", "g")
        assert (done.returncode, f"--encoding {named}" in done.stderr) == (1, True)
        good = kbert("kg", "build", "kg.spo", "--output", named, "--encoding", alias, "--json")
        assert json.loads(good.stdout)["triples"] == 2
    (tmp_path / "kg.spo").write_bytes(b"\xff\xfe" + unmarked)
    marked = kbert("kg", "build", "kg.spo", "--output", "marked", "--json")
    assert json.loads(marked.stdout)["triples"] == 2


def test_arguments_are_utf8_whatever_the_locale(kbert):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = kbert("inspect-tree", "高血压", "-q", "--format", "json", **plain)
    assert json.loads(done.stdout)["text"] == "高血压"
    bad = kbert("inspect-tree", b"\xff".decode("utf-8", "surrogateescape"))
    assert (bad.returncode, "is not UTF-8" in bad.stderr) == (1, True)
