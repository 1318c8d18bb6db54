"""Noise: threads give way at random, so that an ordinary run meets more interleavings."""

from __future__ import annotations

import sys

from atomsan.scheduler._noise import RandomYields

# Seconds that a thread may run before the interpreter itself lets another one run: 500 times fewer than by default.
SWITCH_INTERVAL = 1e-5


class Noise(RandomYields):
    """Random yields and a small switch interval. The same seed gives the same decisions.

    `point` is compiled (`RandomYields`): no frame of ours is on the program's stack when a thread gives way.
    """

    def start(self) -> int:
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        self.restart()
        return self.gap()

    def done(self) -> None:
        sys.setswitchinterval(self._interval)
