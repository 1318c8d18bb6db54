from atomsan.trace.events import Batch
from atomsan.trace.symbols import Symbols

EVENT_BYTES: int

class DavidaParser:
    filled: int
    first: int
    def __init__(self, symbols: Symbols, room: int) -> None: ...
    def feed(self, data: bytearray, start: int, stop: int) -> int: ...
    def take(self) -> Batch: ...
