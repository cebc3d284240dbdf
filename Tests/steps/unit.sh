#!/usr/bin/env bash
# Runs the unit and contract tests of the debug build. The arguments are further ones for `swift test`.
source "$(dirname "$0")/common.sh"

# Starts tests in a process group of their own. Within it they run one after the other, as those with real deadlines must
# not starve one another. A seed of the simulation stands for the same run only if sets have the same order each time.
logs=$(mktemp -d) groups=()
start_tests() {
    SWIFT_DETERMINISTIC_HASHING=1 setsid stdbuf -oL swift test --skip-build --ignore-lock --no-parallel "$@" \
        >"$logs/${#groups[@]}" 2>&1 &
    groups+=($!)
}
trap 'for group in "${groups[@]}"; do kill -KILL -- "-$group" 2>/dev/null; done; rm -rf "$logs"' EXIT

# Each test prints when it starts and when it ends; one that is silent for five minutes does not end. The time of all of
# them says nothing: it is twice as long on a machine that is half as fast.
wait_for_tests() {
    local group=${groups[$1]} log=$logs/$1
    while kill -0 "$group" 2>/dev/null; do
        sleep 1
        if (($(date +%s) - $(stat -c %Y "$log") > 300)); then
            kill -KILL -- "-$group"
            echo "FAILED: a test does not end; the last lines are"
            tail -n 20 "$log"
            count 0 1
            return
        fi
    done
    wait "$group"
    report $? "$log"
}

report() {
    local status=$1 log=$2 summary total broken
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
}

if (($# > 0)); then
    start_tests "$@"
else
    # Nearly half of the work. Their deadlines are of a minute or in virtual time, so they run beside the others.
    patient='^(TaskSync|TaskFolder|TaskModel|Reconciliation|Simulation)Tests\.'
    start_tests --filter "$patient"
    start_tests --skip "$patient"
fi
for number in "${!groups[@]}"; do wait_for_tests "$number"; done
finish
