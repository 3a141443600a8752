"""Packaging of kbert; tool settings live in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (HERE / "kbert_cli/version.py").read_text())[1]

TEST = [
    "hypothesis>=6.100",
    "import-linter>=2.0",
    "ir-measures>=0.3.3",
    "mypy>=1.11",
    "opencc>=1.1.7",
    "pytest>=8",
    "pytest-xdist>=3.6",
    "rjieba>=0.2.2",
    "ruff>=0.6",
    "seqeval>=1.2.2",
    "tensorboard>=2.14",
    "zstandard>=0.22",
]

setup(
    name="kbert",
    version=VERSION,
    description="Fine-tune Chinese BERT together with a knowledge graph (K-BERT)",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    python_requires=">=3.10",
    # kgs/, corpora/ and encoders/ stand at the top for people and inside the package for pip.
    packages=[
        *find_packages(include=["kbert_cli*"]),
        "kbert_cli._kgs",
        "kbert_cli._corpora",
        "kbert_cli._encoders",
    ],
    package_dir={
        "kbert_cli._kgs": "kgs",
        "kbert_cli._corpora": "corpora",
        "kbert_cli._encoders": "encoders",
    },
    package_data={
        "kbert_cli": ["py.typed"],
        "kbert_cli._kgs": ["*.spo", "*.toml"],
        "kbert_cli._corpora": ["*/*.tsv", "*/*.toml"],
        "kbert_cli._encoders": ["*/*.safetensors", "*/*.json", "*/*.toml", "*/*.md"],
    },
    install_requires=[
        "accelerate>=1.1",
        "click>=8.1",
        "filelock>=3.13",
        "jieba>=0.42.1",
        "joblib>=1.3",
        "marisa-trie>=1.2",
        "numpy>=1.26",
        "pandas>=2.2",
        "platformdirs>=4",
        "rich>=13.7",
        "safetensors>=0.4.3",
        "scikit-learn>=1.4",
        "scipy>=1.11",
        "tokenizers>=0.21",
        "tomli>=2; python_version < '3.11'",
        "torch>=2.9",
        "transformers>=5.15,<6",
    ],
    extras_require={
        # The same word boundaries, ten times as fast.
        "fast": ["rjieba>=0.2.2"],
        # Sources in .zst.
        "zstd": ["zstandard>=0.22"],
        # BatchPredictor in Ray Data.
        "ray": ["ray[data]>=2.30"],
        # finetune --log-to tensorboard.
        "tensorboard": ["tensorboard>=2.14"],
        # kg build --simplified.
        "traditional": ["opencc>=1.1.7"],
        "test": TEST,
    },
    entry_points={"console_scripts": ["kbert = kbert_cli.cli.main:main"]},
    classifiers=[
        "Environment :: Console",
        "License :: OSI Approved :: MIT License",
        "Natural Language :: Chinese (Simplified)",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
