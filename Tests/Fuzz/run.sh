#!/usr/bin/env bash
# Fuzzes every decoder of bytes from disks, sockets and networks with libFuzzer and AddressSanitizer.
#
#   Tests/Fuzz/run.sh [SECONDS]             all decoders for SECONDS in total, by default 600
#   Tests/Fuzz/run.sh SECONDS DECODER ...   only these; Decoders/Entry.swift has their names
#
# Starts from Seeds and from the inputs that earlier runs have found (.build/fuzz/corpus). An input that crashes a decoder, or
# takes more than 5 s or 1 GiB, is written to .build/fuzz/findings and ends the run of that decoder.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
shift || true
work=.build/fuzz
FERRY_TARGETS=Fuzz swift build -c release --target Fuzz --scratch-path $work/build \
    -Xswiftc -enable-testing -Xswiftc -sanitize=fuzzer,address
objects=$(dirname "$(find $work/build/*/release/Fuzz.build -name '*.o' | head -n 1)")/..
find "$objects" -name '*.o' -path '*.build/*' >$work/objects
# Hides the linker's warnings about symbols of the sanitizer in each object.
swiftc -sanitize=fuzzer,address @$work/objects -o $work/fuzz 2> >(grep -v "Cannot export local symbol" >&2)

decoders=("$@")
((${#decoders[@]})) || mapfile -t decoders < <(sed -n 's/^    "\(.*\)": decode.*/\1/p' Tests/Fuzz/Decoders/Entry.swift)
status=0
for decoder in "${decoders[@]}"; do
    corpus=$work/corpus/$decoder
    mkdir -p "$corpus" $work/findings
    seeds=()
    [[ -d Tests/Fuzz/Seeds/$decoder ]] && seeds=("Tests/Fuzz/Seeds/$decoder")
    if [[ $decoder == messages ]]; then
        # The golden messages, each to be decoded as every type.
        python3 - "$corpus" Tests/FirestoreProtocolTests/Golden/messages.txt <<'PYTHON'
import sys
for number, line in enumerate(open(sys.argv[2])):
    data = line.split()[2]
    if data != "-":
        for choice in range(37):
            open(f"{sys.argv[1]}/golden-{number}-{choice}", "wb").write(bytes([choice]) + bytes.fromhex(data))
PYTHON
    fi
    log=$work/$decoder.log
    # Swift's own handler of crashes would hide where the sanitizer saw one.
    if SWIFT_BACKTRACE=enable=no FERRY_FUZZ=$decoder $work/fuzz -max_total_time=$((seconds / ${#decoders[@]})) -max_len=4096 -rss_limit_mb=1024 -timeout=5 \
        -print_final_stats=1 -artifact_prefix=$work/findings/"$decoder"- "$corpus" "${seeds[@]}" 2>"$log"; then
        result=ok
    else
        result="FAILED, see $log" status=1
    fi
    awk -v name="$decoder" -v result="$result" '
        /number_of_executed_units/ { runs = $2 } /peak_rss_mb/ { peak = $2 } /cov: / { coverage = $4 }
        END { printf "%-16s %10d executions, peak %4d MiB, coverage %6d: %s\n", name, runs, peak, coverage, result }' "$log"
done
exit $status
