#!/bin/sh
# Fuzzes the decoders with libFuzzer: Tests/Fuzz/FirestoreProtocol/run.sh [seconds, default 60]
# Starts from the golden messages; a crash leaves its input in .build/fuzz.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
work="$root/.build/fuzz"
mkdir -p "$work/corpus"
cd "$work"
flags="-O -swift-version 6 -sanitize=fuzzer,address -parse-as-library -package-name ferry -I .
    -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature MemberImportVisibility"
for module in DocumentModel FirestoreProtocol; do
    # shellcheck disable=SC2046,SC2086
    swiftc $flags -wmo -module-name $module -emit-module -emit-object -o $module.o \
        $(find "$root/Sources/Model/$module" -name '*.swift')
done
# shellcheck disable=SC2086
swiftc $flags "$root/Tests/Fuzz/FirestoreProtocol/FuzzTarget.swift" DocumentModel.o FirestoreProtocol.o -o fuzz
python3 - "$root/Tests/FirestoreProtocolTests/Golden/messages.txt" <<'PYTHON'
import sys
for number, line in enumerate(open(sys.argv[1])):
    data = line.split()[2]
    if data != "-":
        for choice in range(26):
            open(f"corpus/golden-{number}-{choice}", "wb").write(bytes([choice]) + bytes.fromhex(data))
PYTHON
exec ./fuzz -max_total_time="${1:-60}" -max_len=4096 -rss_limit_mb=1024 -timeout=5 -print_final_stats=1 corpus
