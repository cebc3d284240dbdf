# Sourced by each step. A step runs at the top of the repository, and ends with `finish`.
set -uo pipefail
passed=0 failed=0

headline() { printf '\n== %s\n' "$*"; }

count() { passed=$((passed + $1)) failed=$((failed + $2)); }

# Runs one check. The arguments are its name and the command, whose output is shown only if it fails.
check() {
    local name=$1 log
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        count 1 0 && echo "ok: $name"
    else
        count 0 1 && echo "FAILED: $name" && tail -n 80 "$log"
    fi
    rm -f "$log"
}

# Adds the counts of a log's last line of the form "N passed, M failed".
count_last_line() {
    local line
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$1" | tail -n 1)
    [[ -n $line ]] || line="0 passed, 1 failed"
    count "$(cut -d' ' -f1 <<<"$line")" "$(cut -d' ' -f3 <<<"$line")"
}

# Reports the counts to Tests/run.sh through FERRY_STEP_RESULT, and ends the step.
finish() {
    [[ -z ${FERRY_STEP_RESULT:-} ]] || echo "$passed $failed" >"$FERRY_STEP_RESULT"
    echo "$passed passed, $failed failed"
    exit $((failed > 0 || passed == 0))
}

release_directory() { swift build -c release --static-swift-stdlib --show-bin-path; }
