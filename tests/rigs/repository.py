"""Where the repository is: tests that start a program of the tests run it as a module from here."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
