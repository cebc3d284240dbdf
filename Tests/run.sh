#!/usr/bin/env bash
# Installs what the tests need, runs all of them, and prints one line at the end: N passed, N failed.
#
#   Tests/run.sh                   all steps
#   Tests/run.sh unit interop      only these steps, and the builds that they need; the steps are the files of Tests/steps
#   Tests/run.sh --soak MINUTES    new plans of the simulation, for MINUTES of each processor's time
cd "$(dirname "$0")/.." || exit 1
source Tests/steps/common.sh
export LC_ALL=C.UTF-8

if [[ ${1:-} == --soak ]]; then
    Tests/steps/release.sh && exec Tests/steps/simulation.sh --soak "${2:?minutes}"
    exit 1
fi

all=(format build unit library simulation interop end-to-end ordinary-user systemd)
wanted=("${@:-${all[@]}}")
for step in "${wanted[@]}"; do
    [[ " ${all[*]} release " == *" $step "* ]] || { echo "There is no step '$step'. Steps: ${all[*]}"; exit 2; }
done
steps=(packages)
for step in "${wanted[@]}"; do
    case $step in
        unit | library) steps+=(build) ;;
        simulation | interop | end-to-end | ordinary-user | systemd) steps+=(release) ;;
    esac
    steps+=("$step")
done

FERRY_STEP_RESULT=$(mktemp)
export FERRY_STEP_RESULT
table=() done=" "
for step in "${steps[@]}"; do
    [[ $done == *" $step "* ]] && continue
    done+="$step "
    headline "$step"
    start=$SECONDS
    echo "0 1" >"$FERRY_STEP_RESULT"
    "Tests/steps/$step.sh"
    read -r step_passed step_failed <"$FERRY_STEP_RESULT"
    count "$step_passed" "$step_failed"
    table+=("$(printf '%-14s %7d %7d %7d' "$step" "$step_passed" "$step_failed" $((SECONDS - start)))")
    # The later steps cannot run without it.
    [[ $step =~ ^(packages|build|release)$ ]] && ((step_failed)) && break
done
rm -f "$FERRY_STEP_RESULT"
unset FERRY_STEP_RESULT

printf '\n%-14s %7s %7s %7s\n' step passed failed seconds
printf '%s\n' "${table[@]}" ''
finish
