#!/usr/bin/env bash
# Boots a real systemd and runs the units in it. Needs root.
source "$(dirname "$0")/common.sh"

if ((EUID != 0)); then
    echo "skipped: booting a systemd needs root"
    count 1 0
    finish
fi
log=$(mktemp)
FERRY_BIN=$(release_directory) Tests/Systemd/run.sh 2>&1 | tee "$log"
count_last_line "$log"
rm -f "$log"
finish
