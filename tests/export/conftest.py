"""The command line, for exports as a user makes them."""

from tests.cli.conftest import cli as cli
