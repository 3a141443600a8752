"""``python -m kbert_cli`` is the ``kbert`` command."""

from kbert_cli.cli.main import main

if __name__ == "__main__":
    main()
