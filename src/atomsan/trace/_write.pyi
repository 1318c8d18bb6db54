from collections.abc import Callable
from typing import BinaryIO

from atomsan.trace.events import Batch, SymbolKind
from atomsan.trace.symbols import Symbols

class LineWriter:
    def __init__(
        self,
        stream: BinaryIO,
        symbols: Symbols,
        signs: bytes,
        spell: Callable[[SymbolKind, int, bytes], bytes],
        columns: int | None = None,
    ) -> None: ...
    def write(self, batch: Batch) -> None: ...
    def flush(self) -> None: ...
