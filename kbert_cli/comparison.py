"""Did the graph help? Arms on equal seeds and data, and how sure their difference is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kbert_cli.checkpoint import METRICS, UNITS, read_record
from kbert_cli.config import EngineConfig, FinetuneConfig
from kbert_cli.errors import KbertError
from kbert_cli.files import read_json, write_json
from kbert_cli.preparation import resolve_defaults
from kbert_cli.reporting import Reporter
from kbert_cli.training import finetune

RESAMPLES = 10_000
_CHUNK = 500
COMPARISON = "comparison.json"


@dataclass(frozen=True)
class Arm:
    """One set of options, run with every seed."""

    name: str
    config: FinetuneConfig
    engine: EngineConfig = field(default_factory=EngineConfig)


@dataclass(frozen=True)
class Difference:
    """An arm against the first one."""

    mean: float
    by_seed: list[float]
    low: float
    high: float
    """95 % of the paired bootstrap over test examples."""
    p: float
    """Two-sided, of the same bootstrap."""
    p_seeds: float | None
    """Two-sided, of a paired t-test over the seeds; None with fewer than three."""
    verdict: str


@dataclass(frozen=True)
class ArmResult:
    """Figures of an arm on the test split."""

    name: str
    primary: str
    by_seed: dict[int, float]
    mean: float
    sd: float
    """Of the seeds, n - 1; NaN for a single one."""
    seconds: float
    """Mean training time of a run."""
    difference: Difference | None
    """None for the first arm."""


def compare(
    arms: Sequence[Arm],
    seeds: Sequence[int],
    folder: Path,
    reporter: Reporter,
    *,
    force: bool = False,
) -> list[ArmResult]:
    """Run what has not been run yet, and compare every arm with the first.

    Runs live in ``folder/ARM/seed-N``; those that are complete and had these options are kept, and
    one that was broken off is gone on with.

    Raises:
        KbertError: arms share a name, differ in task or test split, or have no test split; or a
            finished run had other options (``force`` replaces it).
    """
    _check(arms)
    total = len(arms) * len(seeds)
    for number, (seed, arm) in enumerate(((s, a) for s in seeds for a in arms), 1):
        config = replace(arm.config, training=replace(arm.config.training, seed=seed))
        run = folder / arm.name / f"seed-{seed}"
        before = _finished(run)
        if before is not None and before != resolve_defaults(config) and not force:
            raise KbertError(
                f"{run} holds a finished run with other options",
                "Name another --output, or let --force replace what is there.",
            )
        if before == resolve_defaults(config):
            reporter.note(f"[{number}/{total}] {arm.name}, seed {seed}: done already")
            continue
        reporter.note(f"[{number}/{total}] {arm.name}, seed {seed}")
        finetune(
            config,
            reporter,
            output=run,
            force=True,
            resume_if_possible=True,
            engine=arm.engine,
        )
    results = _results(arms, seeds, folder)
    write_json(folder / COMPARISON, comparison_as_dict(results))
    return results


def _check(arms: Sequence[Arm]) -> None:
    names = [arm.name for arm in arms]
    if len(arms) < 2:
        raise KbertError("a comparison needs two arms at least", "Give --kg or --arm twice.")
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise KbertError(f"arms share the name {', '.join(double)}", "--arm NAME:… names an arm.")
    first = arms[0].config
    if not first.test:
        raise KbertError("a comparison needs a test split", "Name one with --test FILE.")
    for arm in arms[1:]:
        if (arm.config.task, arm.config.test) != (first.task, first.test):
            raise KbertError(
                f"arm {arm.name} has another task or test split than {names[0]}: "
                f"{arm.config.test}, {first.test}",
                "Name the data for all arms, with --corpus or --train, --dev and --test.",
            )


def _finished(run: Path) -> FinetuneConfig | None:
    """The options of a complete run."""
    if not ((run / METRICS).is_file() and (run / UNITS).is_file()):
        return None
    return read_record(run).config


def _results(arms: Sequence[Arm], seeds: Sequence[int], folder: Path) -> list[ArmResult]:
    units = {
        arm.name: [_units(folder / arm.name / f"seed-{seed}" / UNITS) for seed in seeds]
        for arm in arms
    }
    results = []
    for arm in arms:
        metrics = [read_json(folder / arm.name / f"seed-{seed}" / METRICS) for seed in seeds]
        primary = metrics[0]["test"]["primary"]
        figures = [one["test"][primary] for one in metrics]
        difference = None
        if arm is not arms[0]:
            difference = _difference(units[arms[0].name], units[arm.name], arm.name, arms[0].name)
        results.append(
            ArmResult(
                arm.name,
                primary,
                dict(zip(seeds, figures, strict=True)),
                float(np.mean(figures)),
                float(np.std(figures, ddof=1)) if len(figures) > 1 else math.nan,
                float(np.mean([one["training_seconds"] for one in metrics])),
                difference,
            )
        )
    return results


def _units(path: Path) -> np.ndarray:
    try:
        units: np.ndarray = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        units = np.empty(0)
    if units.ndim != 2 or units.shape[1] != 2:
        raise KbertError(f"{path} is damaged", "Delete that run's folder; it will be run again.")
    return units


def _difference(
    first: Sequence[np.ndarray], other: Sequence[np.ndarray], name: str, first_name: str
) -> Difference:
    by_seed = [_ratio(b.sum(0)) - _ratio(a.sum(0)) for a, b in zip(first, other, strict=True)]
    low, high, p = paired_bootstrap(first, other)
    mean = float(np.mean(by_seed))
    p_seeds = _p_of_seeds(by_seed)
    return Difference(
        mean,
        [float(one) for one in by_seed],
        low,
        high,
        p,
        p_seeds,
        verdict(name, first_name, mean, (low, high, p), p_seeds, len(by_seed)),
    )


def _ratio(sums: np.ndarray) -> np.ndarray:
    """[…, 2] sums of units → […] figures; 0 where there is nothing to divide by."""
    figures: np.ndarray = sums[..., 0] / np.maximum(sums[..., 1], 1e-12)
    return figures


def paired_bootstrap(
    first: Sequence[np.ndarray], other: Sequence[np.ndarray], *, resamples: int = RESAMPLES
) -> tuple[float, float, float]:
    """Resample test units (Efron and Tibshirani 1993; Berg-Kirkpatrick et al. 2012).

    Each resample draws the same units for both arms and all seeds, and takes the mean over the
    seeds of the differences.

    Args:
        first: a seed's [u, 2] units each, as ``Task.units`` gives them.
        other: the same of the other arm, seed by seed.

    Returns:
        The bounds of the 95 % interval of ``other`` minus ``first``, and the two-sided p.
    """
    chance = np.random.default_rng(0)
    count = len(first[0])
    found = []
    for start in range(0, resamples, _CHUNK):
        rows = min(_CHUNK, resamples - start)
        weights = chance.multinomial(count, np.full(count, 1 / count), size=rows).astype(float)
        differences = [
            _ratio(weights @ b) - _ratio(weights @ a) for a, b in zip(first, other, strict=True)
        ]
        found.append(np.mean(differences, axis=0))
    drawn = np.concatenate(found)
    low, high = np.quantile(drawn, [0.025, 0.975])
    # One more than counted: no finite number of resamples shows a p of nothing.
    tail = min((drawn <= 0).sum(), (drawn >= 0).sum()) + 1
    return float(low), float(high), float(min(1.0, 2 * tail / (resamples + 1)))


def _p_of_seeds(by_seed: Sequence[float]) -> float | None:
    from scipy.stats import ttest_1samp

    if len(by_seed) < 3 or np.ptp(by_seed) == 0:
        return None
    return float(ttest_1samp(by_seed, 0).pvalue)


def verdict(
    name: str,
    first: str,
    mean: float,
    interval: tuple[float, float, float],
    p_seeds: float | None,
    seeds: int,
) -> str:
    """The difference in words; it takes both the test split and the seeds to call it one.

    Args:
        interval: what ``paired_bootstrap`` gives.
        p_seeds: p of the t-test over the seeds, if there are enough for one.
    """
    low, high, p = interval
    points = f"{abs(mean) * 100:.1f} points"
    sure = f"95 % of resampled test sets: {low * 100:+.1f} to {high * 100:+.1f}, p {_shown(p)}"
    if p >= 0.05:
        return f"no difference between {name} and {first} that this test split can show ({sure})"
    found = f"{name} is {'better' if mean > 0 else 'worse'} than {first} by {points} ({sure}"
    if p_seeds is None:
        return (
            f"undecided: on this test split {found}), but {seeds} seed{'s' * (seeds > 1)} cannot "
            "tell whether others would agree; take three or more"
        )
    if p_seeds >= 0.05:
        return (
            f"no difference between {name} and {first} that these seeds can show: {points} on this "
            f"test split ({sure}), but seeds differ as much (p over seeds {_shown(p_seeds)})"
        )
    return f"{found}; p over seeds {_shown(p_seeds)})"


def _shown(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def comparison_as_dict(results: Sequence[ArmResult]) -> dict[str, Any]:
    """Plain data for JSON."""
    return {
        "arms": [
            {
                **vars(one),
                "sd": None if math.isnan(one.sd) else one.sd,
                "difference": vars(one.difference) if one.difference else None,
            }
            for one in results
        ]
    }
