"""WHAT HAPPENED: events in columns, symbol tables, every format in and out, validation, and the regions to check."""
