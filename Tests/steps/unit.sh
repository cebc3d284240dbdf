#!/usr/bin/env bash
# Runs the unit and contract tests of the debug build. The arguments are further ones for `swift test`.
source "$(dirname "$0")/common.sh"

log=$(mktemp)
# The tests run one after the other, as those with real deadlines must not starve one another. A seed of the simulation
# stands for the same run only if sets have the same order each time.
SWIFT_DETERMINISTIC_HASHING=1 setsid stdbuf -oL swift test --skip-build --no-parallel "$@" >"$log" 2>&1 &
tests=$!
trap 'kill -KILL -- "-$tests" 2>/dev/null' EXIT

# Each test prints when it starts and when it ends; one that is silent for five minutes does not end. The time of all of
# them says nothing: it is twice as long on a machine that is half as fast.
while kill -0 "$tests" 2>/dev/null; do
    sleep 1
    if (($(date +%s) - $(stat -c %Y "$log") > 300)); then
        echo "FAILED: a test does not end; the last lines are"
        tail -n 20 "$log"
        count 0 1
        finish
    fi
done
wait "$tests"
status=$?
summary=$(grep -aoE 'Test run with [0-9]+ tests?.* (passed|failed) after.*' "$log" | tail -n 1)
total=$(grep -oE '[0-9]+ test' <<<"$summary" | head -n 1 | grep -oE '[0-9]+')
broken=$(grep -aE '^.{1,4} Test .* failed after' "$log" | grep -avc 'Test run with')
if [[ -z $total ]]; then
    tail -n 60 "$log"
    count 0 1
elif ((status != 0)); then
    grep -aE 'recorded an issue|failed after|error:|Fatal' "$log" | head -n 80
    ((broken > 0)) || broken=1
    count $((total - broken)) "$broken"
else
    count "$total" 0
fi
echo "${summary:-no test ran}"
rm -f "$log"
finish
