#!/usr/bin/env bash
# Checks FerryKit as its users meet it: programs that the compiler must refuse, the listings of the documentation, and the
# documentation itself. Needs the debug build.
source "$(dirname "$0")/common.sh"

modules=$(swift build --show-bin-path)/Modules
log=$(mktemp)
python3 Tests/WrongPrograms/check.py "$modules" Sources/C/* | tee "$log"
count_last_line "$log"
rm -f "$log"

directory=$(mktemp -d)
document() {
    local includes=()
    for library in Sources/C/*; do includes+=(-I "$library"); done
    mkdir "$directory/all" "$directory/graph" &&
        swift symbolgraph-extract -module-name FerryKit -target "$(uname -m)-unknown-linux-gnu" -I "$modules" \
            "${includes[@]}" -minimum-access-level public -output-dir "$directory/all" &&
        mv "$directory/all/FerryKit.symbols.json" "$directory/graph" &&
        docc convert Sources/Library/FerryKit/FerryKit.docc --fallback-display-name FerryKit \
            --fallback-bundle-identifier FerryKit --additional-symbol-graph-dir "$directory/graph" \
            --warnings-as-errors --output-path "$directory/FerryKit.doccarchive"
}
check "docc convert --warnings-as-errors" document
check "every public declaration has a comment" \
    python3 Tests/WrongPrograms/documented.py "$directory/graph/FerryKit.symbols.json"
rm -rf "$directory"
finish
