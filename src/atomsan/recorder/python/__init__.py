"""Recording Python programs: probes, watched primitives, and the session that puts them in."""
