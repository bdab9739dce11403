"""The command line, for imports as a user makes them."""

from tests.cli.conftest import cli as cli
