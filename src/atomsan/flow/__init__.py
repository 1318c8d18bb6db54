"""One file a verb: wires the stages together, and declares the passes that each verb needs."""
