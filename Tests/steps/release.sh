#!/usr/bin/env bash
# Builds the programs for release. The arguments are further ones for `swift build`.
source "$(dirname "$0")/common.sh"

if swift build -c release --static-swift-stdlib "$@"; then count 1 0; else count 0 1; fi
finish
