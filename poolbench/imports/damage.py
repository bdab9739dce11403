"""A file that is not what it should be, with the place."""

from __future__ import annotations


class Damaged(Exception):
    """`line` and `column` count from 1; in a binary file `line` is 0 and `column` the byte."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.message = message

    def at(self, name: str) -> str:
        """`log.csv:12:4: no address: 'x'`"""
        place = f"{self.line}:{self.column}" if self.line else f"byte {self.column}"
        return f"{name}:{place}: {self.message}"
