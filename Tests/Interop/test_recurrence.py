"""Recurrence rules, expanded by Ferry and by python-dateutil."""
import subprocess
import sys
from pathlib import Path

from harness import BIN


def test_random_rules_have_the_days_that_dateutil_finds():
    script = Path(__file__).resolve().parent.parent / "recurrence.py"
    result = subprocess.run([sys.executable, script, BIN / "recurrence", "5000", "7"], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
