"""The command line: one file a command. Only this folder prints, and only it knows click."""
