# Sourced by the steps that run Python tests: creates .venv from Tests/requirements.txt, and counts the tests.
FERRY_BIN=$(release_directory)
export FERRY_BIN

prepare_venv() {
    [[ -x .venv/bin/pytest ]] && cmp -s Tests/requirements.txt .venv/requirements.txt && return
    rm -rf .venv
    /usr/bin/python3 -m venv .venv && .venv/bin/pip -q install -r Tests/requirements.txt &&
        cp Tests/requirements.txt .venv/requirements.txt
}

# Runs the tests with the array `within` as the prefix of the command.
within=()
run_pytest() {
    local log summary
    prepare_venv || { count 0 1; return; }
    log=$(mktemp)
    "${within[@]}" .venv/bin/python -m pytest -q -p no:cacheprovider "$@" 2>&1 | tee "$log"
    summary=$(grep -aE '^(=+ )?[0-9]+ (passed|failed|error|skipped)' "$log" | tail -n 1)
    rm -f "$log"
    number() { grep -oE "[0-9]+ $1" <<<"$summary" | grep -oE '[0-9]+' || echo 0; }
    [[ -n $summary ]] || { count 0 1; return; }
    count "$(number passed)" $(($(number failed) + $(number error)))
}
