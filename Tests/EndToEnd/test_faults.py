"""Runs faults.py for a minute: kill -9, cut networks, full disks and wrong clocks.

FERRY_MINUTES and FERRY_SEED select another run.
"""
import os
import subprocess
import sys
from pathlib import Path

import faults
import pytest

MINUTES = float(os.environ.get("FERRY_MINUTES", "1"))
SEED = os.environ.get("FERRY_SEED", "20261121")


def test_random_faults_lose_nothing():
    if why := faults.can_run():
        pytest.skip(why)
    result = subprocess.run([sys.executable, Path(__file__).parent / "faults.py", "--minutes", str(MINUTES), "--seed", SEED],
                            capture_output=True, text=True, timeout=MINUTES * 60 + 600)
    assert result.returncode == 0, result.stdout + result.stderr
