#!/usr/bin/env bash
# Runs the end-to-end tests with release builds on this machine.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/pytest.sh"

run_pytest Tests/EndToEnd "$@"
finish
