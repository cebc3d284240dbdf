#!/usr/bin/env bash
# Builds everything for debugging, with warnings as errors. An import that Package.swift does not declare is an error.
source "$(dirname "$0")/common.sh"

if swift build --build-tests --explicit-target-dependency-import-check error -Xswiftc -warnings-as-errors; then
    count 1 0
else
    count 0 1
fi
finish
