"""Reading .spo files: which lines become triples, and what is said of the rest."""

import pytest

from kbert_cli.errors import KbertError
from kbert_cli.kg.catalog import open_graph
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.sources import SourceFormat
from kbert_cli.kg.triples import ReadReport, Triple, read_triples

DAMAGED = (
    "只有一列\n两列\t没有宾语\n汤面\t类别\t食物\n四列\t类别\t食物\t0.9\n\n# 注释行\n"
    "空格 分隔 三列\n\t类别\t没有主语\n没有谓语\t\t食物\n"
    "没有宾语\t类别\t\n"
    "电池\t部件\t手机\n尾部空格\t类别\t食物   \n"
    "  头部空格\t类别\t食物\n全角空格\u3000\t类别\t食物\n连续\t\t\t制表\n霉味,类别,气味\n"
    "苹果|||类别|||水果\n"
)


def read(path):
    report = ReadReport(str(path))
    return list(read_triples(path, SourceFormat(), report)), report


def test_damaged_lines_are_rejected_by_number_and_nothing_is_added_twice(write):
    triples, report = read(write("kg.spo", DAMAGED))
    assert [triple.subject for triple in triples] == [
        "汤面",
        "电池",
        "尾部空格",
        "头部空格",
        "全角空格",
    ]
    assert [bad.line for bad in report.rejected] == [1, 2, 4, 7, 8, 9, 10, 15, 16, 17]
    assert report.rows == 15
    assert report.rejected[2].reason.startswith("4 columns, expected 3")
    assert report.rejected[4].reason == "empty subject"


def test_quotes_are_characters(write):
    path = write("kg.spo", '"甲\t类别\t乙"\n丙"\t"类\t丁\n')
    assert read(path)[0] == [Triple('"甲', "类别", '乙"'), Triple('丙"', '"类', "丁")]


def test_only_newlines_end_a_line(write):
    path = write("kg.spo", "甲\t说\t一\u2028二\x0b三\r\n乙\t说\t四")
    assert [triple.object for triple in read(path)[0]] == ["一\u2028二\x0b三", "四"]


@pytest.mark.parametrize("header", ["subject\tpredicate\tobject", "实体\t属性\t值"])
def test_header_is_no_triple(write, header):
    triples, report = read(write("kg.spo", f"{header}\n汤面\t类别\t食物\n"))
    assert triples == [Triple("汤面", "类别", "食物")]
    assert report.header == header


def test_byte_order_mark_is_dropped(write):
    path = write("kg.spo", b"\xef\xbb\xbf" + "汤面\t类别\t食物\n".encode())
    assert read(path)[0][0].subject == "汤面"


def test_another_encoding_is_named_with_its_line(write):
    path = write("kg.spo", "甲\t类别\t乙\n".encode() + "丙\t类别\t丁\n".encode("gbk"))
    with pytest.raises(KbertError, match=r"kg\.spo:2: not UTF-8 \(byte 0xb1\)") as error:
        read(path)
    assert "--encoding gb18030" in error.value.hint


def test_duplicates_and_self_loops_are_counted_and_dropped(write):
    path = write("kg.spo", "苹果\t类别\t水果\n" * 3 + "苹果\t类别\t水果 \n苹果\t类别\t苹果\n")
    opened = open_graph([str(path)])
    assert len(opened.graph) == 1
    assert (opened.reports[0].duplicates, opened.reports[0].self_loops) == (3, 1)


def test_order_is_that_of_the_files(write):
    first = write("a.spo", "苹果\t类别\t水果\n苹果\t类别\t公司\n")
    second = write("b.spo", "苹果\t颜色\t红\n苹果\t类别\t水果\n")
    objects = [t.object for t in open_graph([str(first), str(second)]).graph.triples_of("苹果")]
    assert objects == ["水果", "公司", "红"]
    objects = [t.object for t in open_graph([str(second), str(first)]).graph.triples_of("苹果")]
    assert objects == ["红", "水果", "公司"]


def test_a_folder_is_all_its_graphs(write):
    write("kg/b.spo", "甲\t类别\t二\n")
    folder = write("kg/a.spo", "甲\t类别\t一\n").parent
    objects = [triple.object for triple in open_graph([str(folder)]).graph.triples_of("甲")]
    assert objects == ["一", "二"]


def test_a_file_without_any_triple_is_an_error_but_an_empty_one_is_not(write):
    with pytest.raises(KbertError, match="none of its 2 rows is a triple"):
        open_graph([str(write("bad.spo", "甲 类别 乙\n丙,类别,丁\n"))])
    assert len(open_graph([str(write("empty.spo", "# 没有三元组\n\n"))]).graph) == 0


def test_an_unknown_graph_names_the_bundled_ones():
    with pytest.raises(KbertError, match="no graph 'medicla'") as error:
        open_graph(["medicla"])
    assert error.value.hint == "Did you mean 'medical'?"


def test_folded_subjects_share_their_triples():
    graph = MemoryGraph([Triple("ＡＢＣ", "类别", "全角"), Triple("abc", "类别", "半角")])
    assert [triple.object for triple in graph.triples_of("Abc")] == ["全角", "半角"]
    assert graph.subject_count == 1


def test_content_hash_tells_order_and_content():
    one, two = Triple("甲", "类别", "乙"), Triple("甲", "类别", "丙")
    assert MemoryGraph([one, two]).content_hash == MemoryGraph([one, two, one]).content_hash
    assert MemoryGraph([one, two]).content_hash != MemoryGraph([two, one]).content_hash


def test_real_graphs_read_whole(shared):
    counts = {"HowNet": 52_576, "Medical": 13_864, "cmekg": 967_409}
    for name in ("HowNet", "Medical"):
        opened = open_graph([str(shared / f"data/kgs/{name}.spo")])
        assert sum(report.rows for report in opened.reports) == counts[name]
        assert not opened.reports[0].rejected


@pytest.mark.slow
def test_cmekg_has_one_bad_line(shared):
    opened = open_graph([str(shared / "data/kgs/cmekg")])
    assert sum(report.rows for report in opened.reports) == 967_409
    rejected = [bad for report in opened.reports for bad in report.rejected]
    assert [bad.reason for bad in rejected] == ["empty object"]
