"""Programs in other forms, and with their hints followed, take minutes: `make test-long` judges them."""

import os

collect_ignore = [] if os.environ.get("ATOMSAN_LONG") else ["test_programs_reformatted.py", "test_hints_followed.py"]
