"""The table of last users against a plain array of bytes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from poolbench.analysis.ranges import NOBODY, LastUsers

SPACE = 40

put = some.tuples(
    some.integers(0, SPACE - 1), some.integers(1, 12), some.sampled_from([NOBODY, 0, 1, 2, 3])
)


@given(some.lists(put, max_size=30), some.integers(0, SPACE - 1), some.integers(1, SPACE))
def test_pieces_say_of_every_byte_who_used_it_last(
    puts: list[tuple[int, int, int]], begin: int, size: int
) -> None:
    """After any puts, the pieces of any range cover it in order and agree with every byte."""
    table, truth = LastUsers(), [NOBODY] * (2 * SPACE + 12)
    for at, n, user in puts:
        table.put(at, at + n, user)
        truth[at : at + n] = [user] * n
    pieces = table.pieces(begin, begin + size)
    assert pieces[0].begin == begin
    assert pieces[-1].end == begin + size
    assert all(one.end == two.begin for one, two in pairwise(pieces))
    told = [piece.user for piece in pieces for _ in range(piece.begin, piece.end)]
    assert told == truth[begin : begin + size]
