"""Comparing arms: units add up to the figure, the bootstrap is right, runs are not repeated."""

import itertools
import json

import numpy as np
import pytest

from kbert_cli.comparison import paired_bootstrap, verdict
from kbert_cli.corpus.example import Example
from kbert_cli.tasks import load_task
from kbert_cli.tasks.base import Prediction

from .conftest import run_kbert

CASES = {
    "classification": (
        [Example(("甲",), "a"), Example(("乙",), "b"), Example(("丙",), "a")],
        [Prediction("a"), Prediction("a"), Prediction("a")],
        ["a", "b"],
    ),
    "ner": (
        [
            Example(("头痛",), ("B-症", "I-症")),
            Example(("无",), ("O",)),
            Example(("发热",), ("B-症", "I-症")),
        ],
        [Prediction(("B-症", "I-症")), Prediction(("B-症",)), Prediction(("B-症", "O"))],
        ["O", "B-症", "I-症"],
    ),
    "qa": (
        [Example(("问", "答"), label) for label in "1101"],
        [Prediction(label, 0.5) for label in "1011"],
        ["0", "1"],
    ),
}


@pytest.mark.parametrize("task", CASES)
def test_units_add_up_to_the_primary_figure(task):
    module, (examples, predictions, labels) = load_task(task), CASES[task]
    scores = module.score(examples, predictions, labels)
    units = module.units(examples, predictions)
    assert len(units) == len(examples)
    assert units[:, 0].sum() / units[:, 1].sum() == pytest.approx(scores.figures[scores.primary])


def test_the_units_of_questions_are_their_reciprocal_ranks():
    module = load_task("qa")
    labels, groups, given = "01100", "aabbc", [0.9, 0.1, 0.8, 0.2, 0.5]
    examples = [Example(("问", "答"), one, group=g) for one, g in zip(labels, groups, strict=True)]
    predictions = [Prediction("1", one) for one in given]
    units = module.units(examples, predictions)
    assert units.tolist() == [[0.5, 1], [1, 1]]
    assert module.score(examples, predictions, ["0", "1"]).figures["mrr"] == 0.75


def test_the_bootstrap_agrees_with_every_possible_resample():
    chance = np.random.default_rng(3)
    first = [np.stack([chance.integers(0, 2, 4), np.ones(4)], 1).astype(float) for _ in range(2)]
    other = [np.stack([chance.integers(0, 2, 4), np.ones(4)], 1).astype(float) for _ in range(2)]
    every = np.array(
        [
            np.mean(
                [
                    b[list(drawn), 0].mean() - a[list(drawn), 0].mean()
                    for a, b in zip(first, other, strict=True)
                ]
            )
            for drawn in itertools.product(range(4), repeat=4)
        ]
    )
    low, high, p = paired_bootstrap(first, other, resamples=40_000)
    assert (low, high) == pytest.approx(np.quantile(every, [0.025, 0.975]), abs=0.02)
    exact = 2 * min((every <= 0).mean(), (every >= 0).mean())
    assert p == pytest.approx(min(1, exact), abs=0.02)


def test_equal_arms_do_not_differ_and_unequal_ones_do():
    chance = np.random.default_rng(0)
    units = np.stack([chance.integers(0, 2, 400), np.ones(400)], 1).astype(float)
    assert paired_bootstrap([units], [units]) == (0, 0, 1)
    better = units.copy()
    better[np.flatnonzero(units[:, 0] == 0)[:60], 0] = 1
    low, high, p = paired_bootstrap([units], [better])
    assert 0 < low < 0.15 < high
    assert p < 0.001
    sure = (low, high, p)
    found = verdict("kg", "none", 0.15, sure, 0.01, 3)
    assert "better than none by 15.0 points" in found
    assert "p over seeds 0.010" in found
    assert "1 seed cannot tell" in verdict("kg", "none", 0.15, sure, None, 1)
    seeds_differ = verdict("kg", "none", 0.15, sure, 0.51, 3)
    assert "no difference" in seeds_differ
    assert "p over seeds 0.510" in seeds_differ
    assert "no difference" in verdict("kg", "none", 0.001, (-0.01, 0.01, 0.8), 0.01, 3)


@pytest.mark.slow
def test_a_comparison_runs_its_arms_and_goes_on_where_it_was_stopped(tmp_path):
    rows = [f"{i % 2}\t{'头痛发热' if i % 2 else '今天很好'}第{i}次\n" for i in range(40)]
    (tmp_path / "data.tsv").write_text("label\ttext_a\n" + "".join(rows), encoding="utf-8")
    (tmp_path / "kg.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    command = [
        *("compare", "--task", "classification", "--kg", "none", "--kg", "kg.spo"),
        *("--arm", "flat:kg=kg.spo,no-visible-matrix", "--seeds", "2", "--output", "cmp"),
        *("--train", "data.tsv", "--dev", "data.tsv", "--test", "data.tsv"),
        *("--model", "scratch:mini", "--epochs", "1"),
    ]
    done = run_kbert(*command, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    arms = json.loads(done.stdout)["arms"]
    assert [arm["name"] for arm in arms] == ["none", "kg", "flat"]
    assert arms[0]["difference"] is None
    assert list(arms[1]["by_seed"]) == ["1", "2"]
    flat = json.loads((tmp_path / "cmp/flat/seed-2/config.json").read_text(encoding="utf-8"))
    assert flat["injection"]["visible_matrix"] is False
    assert flat["training"]["seed"] == 2
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cmp/*/*/metrics.json")}
    (tmp_path / "cmp/kg/seed-2/metrics.json").unlink()
    again = run_kbert(*command, "--markdown", cwd=tmp_path)
    assert again.stderr.count("done already") == 5
    assert again.stdout.splitlines()[0].startswith("| arm | seeds | mean | sd |")
    for path, time in times.items():
        assert (path.stat().st_mtime_ns == time) == ("kg/seed-2" not in str(path))
    other = run_kbert(*command, "--warmup", "0.2", cwd=tmp_path)
    assert other.returncode == 1
    assert "holds a finished run with other options" in other.stderr
    assert not set(times).difference(tmp_path.glob("cmp/*/*/metrics.json"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kg", "none"), "needs two arms at least"),
        (("--kg", "none", "--kg", "none"), "share the name none"),
        (("--kg", "none", "--arm", "flat"), "does not read as NAME:OPTION=VALUE"),
        (("--kg", "none", "--kg", "medical", "--seeds", "x"), "--seeds is 'x'"),
        (("--kg", "none", "--kg", "medical", "--seeds", "0"), "it must be at least 1"),
        (("--kg", "none", "--arm", "a:kg=medical,epochs=-1"), "--epochs is -1.0"),
    ],
)
def test_wrong_comparisons_are_named(kbert_here, options, message):
    done = kbert_here("compare", "--task", "ner", "--output", "cmp", *options)
    assert done.returncode == 1
    assert message in done.stderr
