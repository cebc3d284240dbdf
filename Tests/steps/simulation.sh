#!/usr/bin/env bash
# Plays plans of the simulation, 200,000 actions of users in all, the same ones each time, plans a million random trees,
# and lets the planner plan beside TaskSync.
#
#   Tests/steps/simulation.sh               those plans
#   Tests/steps/simulation.sh --soak N      fresh plans, for N minutes of each processor's time
source "$(dirname "$0")/common.sh"
program=$(release_directory)/simulate

# Runs plans of 60 actions, unless the options contain another --actions (the first one counts), divided among one
# process per processor. The last line of each process contains its counts.
simulate() {
    local pids=() logs number start=$SECONDS
    logs=$(mktemp -d)
    for ((number = 1; number <= $(nproc); number++)); do
        "$program" "$@" --actions 60 --failures 20 --share "$number/$(nproc)" >"$logs/$number" 2>&1 &
        pids[number]=$!
    done
    for number in "${!pids[@]}"; do
        if wait "${pids[number]}"; then count 1 0; else count 0 1 && cat "$logs/$number"; fi
    done
    tail -qn 1 "$logs"/* >"$logs/all"
    awk '{ plans += $1 } match($0, /[0-9]+ actions/) { actions += substr($0, RSTART) } { failed += $(NF - 1) }
        END { printf "%d plans, %d actions, %d failed", plans, actions, failed }' "$logs/all"
    echo " ($((SECONDS - start)) s): $(cut -c1-80 <<<"$*")"
    rm -r "$logs"
}

if [[ ${1:-} == --soak ]]; then
    simulate --minutes "${2:?minutes}" --shrink
    finish
fi

# Plans of random trees and of machines that exchange their changes, a million in all, shared by one process a processor.
plan_trees() {
    local pids=() logs number start=$SECONDS
    logs=$(mktemp -d)
    for ((number = 1; number <= $(nproc); number++)); do
        "$(release_directory)/reconcile" $((number * 100000000)) $((1000000 / $(nproc))) >"$logs/$number" 2>&1 &
        pids[number]=$!
    done
    for number in "${!pids[@]}"; do
        if wait "${pids[number]}"; then count 1 0; else count 0 1 && cat "$logs/$number"; fi
    done
    tail -qn 3 "$logs"/*
    echo "($((SECONDS - start)) s): reconcile"
    rm -r "$logs"
}

# The planner beside TaskSync, from the state after each action of a user. The first argument is the number of differences
# that are known.
shadow() {
    local known=$1 pids=() logs number found start=$SECONDS
    shift
    logs=$(mktemp -d)
    for ((number = 1; number <= $(nproc); number++)); do
        "$program" --shadow "$@" --share "$number/$(nproc)" >"$logs/$number" 2>&1 &
        pids[number]=$!
    done
    wait "${pids[@]}"
    found=$(awk '/ differences in /{ sum += $1; runs += 1 } END { print runs == '"$(nproc)"' ? sum : "none" }' "$logs"/*)
    if [[ $found != none ]] && ((found <= known)) && ! grep -qE "; [1-9][0-9]* failed" "$logs"/*; then count 1 0; else count 0 1 && cat "$logs"/*; fi
    grep -hE 'explained: |differences in' "$logs"/*
    echo "($((SECONDS - start)) s): --shadow $*"
    rm -r "$logs"
}

plan_trees
shadow 0 --actions 60 --seeds 1-200
shadow 0 --actions 40 --often renameList --seeds 1-40
shadow 0 --actions 40 --often remakeList --seeds 1-40
simulate --seeds 1-4000
simulate --often passNamesUnseen --seeds 1-110
simulate --actions 150 --seeds 1-110
simulate --often recur --seeds 1-300
simulate --actions 150 --often passNamesUnseen --seeds 1-20
for action in count putBack bringBack leave restoreServer; do
    simulate --often "$action" --seeds 1-110,235,555,901,2100
done
for action in saveRacily coarsenClock changeForm blockList protect limitQuota restoreFiles; do
    simulate --often "$action" --seeds 1-110
done
simulate --often cycle --seeds 1-80
# Runs the plans that once violated a law, grouped by their options.
regressions=Tests/Simulation/Seeds/regressions.txt
while IFS= read -r options; do
    seeds=$(awk -F'\t' -v options="$options" '!/^#/ && $2 == options { print $1 }' "$regressions" | paste -sd,)
    words=()
    [[ $options == - ]] || read -ra words <<<"$options"
    simulate "${words[@]}" --seeds "$seeds"
done < <(awk -F'\t' '!/^#/ { print $2 }' "$regressions" | sort -u)
finish
