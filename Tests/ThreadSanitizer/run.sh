#!/usr/bin/env bash
# Runs FerryKit's stress test under the thread sanitizer: eight tasks that use one Ferry at once.
#
#   Tests/ThreadSanitizer/run.sh [OPERATIONS]     the number of operations of each task, by default 10,000
#
# The first run builds FerryKit and all below it, instrumented. Fails if the sanitizer reports anything.
# mutex.c explains why a part of Swift's mutexes is replaced.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${FERRY_SCRATCH:-$PWD/.build/thread-sanitizer}
FERRY_TARGETS=FerryKitTests swift build --build-tests --sanitize=thread --scratch-path "$work"
clang -O1 -fsanitize=thread -shared -fPIC Tests/ThreadSanitizer/mutex.c -o "$work/mutex.so"
LD_PRELOAD=$work/mutex.so FERRY_STRESS=${1:-10000} \
    TSAN_OPTIONS="halt_on_error=0 exitcode=66" \
    "$work/debug/ferryPackageTests.xctest" --testing-library swift-testing --filter StressTests
