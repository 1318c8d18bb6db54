"""Could it have failed? Predicts violations in other interleavings of the run that was recorded."""
