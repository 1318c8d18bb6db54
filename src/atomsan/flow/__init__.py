"""The flow: one file a verb, which wires the stages and declares the passes that the verb needs."""
