#!/usr/bin/env bash
# Runs official and hostile clients against the release server.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/pytest.sh"

run_pytest Tests/Interop "$@"
finish
