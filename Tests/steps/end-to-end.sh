#!/usr/bin/env bash
# Runs the end-to-end tests with release builds on this machine.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/pytest.sh"

# Most of a test's time goes into waiting, so two files of tests run side by side.
run_pytest -n 2 --dist loadfile Tests/EndToEnd "$@"
finish
