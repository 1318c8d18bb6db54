"""The registry of predictors: what each promises. Registering one is one entry here, and a method of `flow.predict`."""

from __future__ import annotations

from typing import NamedTuple


class Predictor(NamedTuple):
    """A row of `atomsan algorithms`."""

    name: str
    property: str
    promises: str
    cost: str
    paper: str = "commit-node-2006"


_COST = "follows the pairs of forms of units that meet"

PREDICTORS: dict[str, Predictor] = {
    predictor.name: predictor
    for predictor in (
        Predictor(
            "commit-node",
            "every interleaving of the run is conflict-serializable",
            "proves it, refutes it by two units and their interleaving, or says why not; exact for two transactions",
            _COST,
        ),
        Predictor(
            "view",
            "every interleaving of the run is view-serializable",
            "proves it, refutes it by two units, or says why it cannot; exact for two transactions",
            _COST,
        ),
        Predictor(
            "reduction",
            "every interleaving of the run is conflict-serializable",
            "proves it by movers, or proves nothing: a baseline",
            _COST,
        ),
        Predictor(
            "blocks",
            "every interleaving of the run is conflict-serializable",
            "refutes it by two units and their interleaving, or proves it for two units: a baseline",
            "follows the pairs of accesses of units that meet",
        ),
    )
}
DEFAULT = "commit-node"

# What orders threads beside fork and join; each can be switched off.
ORDERS = ("handovers", "publication", "spinning", "first-use")
