from typing import Any

from numpy.typing import NDArray

from atomsan.recorder.definitions import Definitions
from atomsan.trace.symbols import SymbolTable

class Namer:
    def __init__(self, definitions: Definitions, table: SymbolTable) -> None: ...
    def add(self, objects: NDArray[Any], variables: NDArray[Any]) -> None: ...
