#!/usr/bin/env bash
# Runs everything that must hold: format, layering, warnings, unit and contract tests, official clients, whole programs,
# systemd. Installs what it needs. Ends with one line: N passed, N failed.
#
#   Tests/run.sh              everything
#   Tests/run.sh format|build|unit|simulation|interop|end-to-end|systemd ...     only these
#   Tests/run.sh --soak MINUTES                                       fresh seeds of the simulation for so long, see Tests/Simulation
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8
passed=0 failed=0
steps=("$@")

wanted() { ((${#steps[@]} == 0)) || [[ " ${steps[*]} " == *" $1 "* ]]; }
headline() { printf '\n== %s\n' "$*"; }
count() { passed=$((passed + $1)) failed=$((failed + $2)); }
# One check: its name, then the command. The output is shown only when it fails.
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
finish() {
    echo
    echo "$passed passed, $failed failed"
    exit $((failed > 0 || passed == 0))
}

install_packages() {
    local missing=() package sudo=()
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || sudo=(sudo)
    echo "installing ${missing[*]}"
    "${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update || return 1
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install -y --no-install-recommends "${missing[@]}" >/dev/null
}

headline packages
mapfile -t packages < <(grep -v '^#' Sources/C/packages.txt)
# The last three are clients of Google's and MinIO's, whose own tests are run, and what compiles them. zsh and fish are
# shells whose completion is tested.
install_packages "${packages[@]}" python3-venv openssl vim-tiny zsh fish rclone s3cmd iproute2 nginx-light golang-google-cloud-dev \
    golang-github-minio-minio-go-v7-dev golang-go || { echo "The packages could not be installed."; count 0 1; finish; }

# Plans of the simulation, of 60 actions unless told otherwise, shared by one process a processor. The last line of each
# tells what it did.
simulate() {
    local program=$1 pids=() log number start=$SECONDS
    shift
    log=$(mktemp -d)
    for ((number = 1; number <= $(nproc); number++)); do
        "$program" "$@" --actions 60 --share "$number/$(nproc)" >"$log/$number" 2>&1 &
        pids[number]=$!
    done
    for number in "${!pids[@]}"; do
        if wait "${pids[number]}"; then count 1 0; else count 0 1 && cat "$log/$number"; fi
    done
    tail -qn 1 "$log"/* | tee "$log/all"
    awk '{ plans += $1 } match($0, /[0-9]+ actions/) { actions += substr($0, RSTART) } { failed += $(NF - 1) }
        END { printf "%d plans, %d actions, %d failed", plans, actions, failed }' "$log/all"
    echo " ($((SECONDS - start)) s)"
    rm -r "$log"
}

if [[ ${1:-} == --soak ]]; then
    headline "simulation, fresh seeds for ${2:?minutes} min of each processor's time"
    check "simulation builds" swift build -c release --static-swift-stdlib --product simulate || finish
    simulate "$(swift build -c release --static-swift-stdlib --show-bin-path)/simulate" --minutes "$2" --shrink --failures 20
    finish
fi

if wanted format; then
    headline format
    check "swift format lint --strict" swift format lint --strict --parallel -r Package.swift Sources Tests Examples
    check "numbers from elsewhere meet no trapping operator" python3 Tests/untrusted_numbers.py
    check "language.py finds bad samples" python3 -m unittest Tests/language_test.py
    check "comments are written as language.py asks" python3 Tests/language.py
fi

if wanted build || wanted unit; then
    headline "build, with warnings as errors and every import declared"
    start=$SECONDS
    if ! swift build --build-tests --explicit-target-dependency-import-check error -Xswiftc -warnings-as-errors; then
        count 0 1
        finish
    fi
    count 1 0
    echo "built in $((SECONDS - start)) s"
fi

if wanted unit; then
    headline "unit and contract tests"
    log=$(mktemp)
    start=$SECONDS
    # One after the other: tests with real deadlines and real processors must not starve one another.
    # The simulation's seeds mean the same runs only where sets have the same order each time.
    SWIFT_DETERMINISTIC_HASHING=1 timeout --foreground -k 10 20m stdbuf -oL swift test --skip-build --no-parallel >"$log" 2>&1
    status=$?
    if ((status == 124)); then
        echo "FAILED: a test does not end; the last lines are"
        tail -n 20 "$log"
        pkill -KILL -f "^$PWD/.build/.*\.xctest "
        count 0 1
        finish
    fi
    line=$(grep -aoE 'Test run with [0-9]+ tests?.* (passed|failed) after.*' "$log" | tail -n 1)
    total=$(grep -oE '[0-9]+ test' <<<"$line" | head -n 1 | grep -oE '[0-9]+')
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
    echo "${line:-no test ran} ($((SECONDS - start)) s)"
    rm -f "$log"
fi

if wanted simulation || wanted interop || wanted end-to-end || wanted systemd; then
    headline "release build"
    start=$SECONDS
    if ! swift build -c release --static-swift-stdlib; then
        count 0 1
        finish
    fi
    FERRY_BIN=$(swift build -c release --static-swift-stdlib --show-bin-path)
    export FERRY_BIN
    echo "built in $((SECONDS - start)) s"
fi

# 200,000 actions of users.
if wanted simulation; then
    headline "simulation, the same plans each time"
    # The last ones broke a law once, under fresh seeds.
    simulate "$FERRY_BIN/simulate" --seeds 1-4000,6000315,6001220,7000389,7000823,7400879,7500530,7500841,7500870,7600289,7900348,7900604,9001733,9002697,9005562,9007906,9008237,9012652,9015145,9016336,9016675,9017336,9203851,13653,20001957,40000469,40001909,40014117,50001141,50021685,50023477,50038821,70000349,70004941,70016022,70018931,70022495,70024873,70025884,70025964,70026805,70029541,70034800,70034930,70056677,73001925,73008089,74009483,74014431,74021692,74047439,74049254,74077823,74101207,74006441,74010329,74029372,74036644,74052293,74083136,74093316,75002115,75009852,75017654,75017888,75037508,75041463,75048396,75049680,75052230,76002785,78002208,78003215,79000384,79011507,79111820,80025964,80068479,80105317,80126962,80144235,80110573,82006037,84013471,83012054,83008974,84006702,85006193,85025666,85031059,85034580,86016763,86016426,87621587,88107169,88117949,87637085,90004273,90004912,900000026624,91006237,92017358,97000309,95504188 \
        --failures 20
    simulate "$FERRY_BIN/simulate" --often passName --seeds 395,559,635,670,190,439,634,680,1119,1404,1594,1130,1498,2389,1842,1891,383 --failures 20
    simulate "$FERRY_BIN/simulate" --often passNamesUnseen --seeds 1-110,159 --failures 20
    simulate "$FERRY_BIN/simulate" --actions 150 --seeds 1-110,601766688,98000452 --failures 20
    simulate "$FERRY_BIN/simulate" --actions 150 --often passNamesUnseen --seeds 1-20,485 --failures 20
    for action in count putBack bringBack leave restoreServer; do
        simulate "$FERRY_BIN/simulate" --often $action --seeds 1-110,235,555,901,2100 --failures 20
    done
fi

# Runs Python tests and adds their numbers.
pytest_step() {
    local log summary number
    log=$(mktemp)
    .venv/bin/python -m pytest -q -p no:cacheprovider "$@" 2>&1 | tee "$log"
    summary=$(grep -aE '^(=+ )?[0-9]+ (passed|failed|error|skipped)' "$log" | tail -n 1)
    number() { grep -oE "[0-9]+ $1" <<<"$summary" | grep -oE '[0-9]+' || echo 0; }
    [[ -n $summary ]] || { count 0 1; rm -f "$log"; return; }
    count "$(number passed)" $(($(number failed) + $(number error)))
    rm -f "$log"
}

if wanted interop || wanted end-to-end; then
    if [[ ! -x .venv/bin/pytest ]] || ! cmp -s Tests/requirements.txt .venv/requirements.txt; then
        headline "official clients, in .venv"
        rm -rf .venv
        { /usr/bin/python3 -m venv .venv && .venv/bin/pip -q install -r Tests/requirements.txt \
            && cp Tests/requirements.txt .venv/requirements.txt; } || { count 0 1; finish; }
    fi
fi
if wanted interop; then
    headline "official clients"
    pytest_step Tests/Interop
fi
if wanted end-to-end; then
    headline "whole programs"
    pytest_step Tests/EndToEnd
fi
if wanted systemd; then
    headline "systemd"
    if ((EUID == 0)); then
        log=$(mktemp)
        Tests/Systemd/run.sh 2>&1 | tee "$log"
        line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
        count "$(cut -d' ' -f1 <<<"${line:-0 passed, 1 failed}")" "$(cut -d' ' -f3 <<<"${line:-0 passed, 1 failed}")"
        rm -f "$log"
    else
        echo "skipped: booting a systemd needs root"
    fi
fi
finish
