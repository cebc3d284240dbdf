#!/usr/bin/env bash
# Checks the format of the sources without a build.
source "$(dirname "$0")/common.sh"

check "swift format lint --strict" swift format lint --strict --parallel -r Package.swift Sources Tests Examples
check "numbers from elsewhere meet no trapping operator" python3 Tests/untrusted_numbers.py
check "time, randomness and threads come in" python3 Tests/environment.py
check "comments are written as language.py asks" python3 Tests/language.py
check "the checker of comments finds bad samples" python3 -m unittest Tests/language_test.py
check "types and circles of types are within the bounds of shape.py" python3 Tests/shape.py
check "the checker of the shape finds bad samples" python3 -m unittest Tests/shape_test.py
check "the checker of direct uses finds them" python3 -m unittest Tests/environment_test.py
finish
