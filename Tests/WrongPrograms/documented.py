"""Checks that every public declaration has a comment.

Usage: documented.py SYMBOLS   the symbol graph of a module
"""
import json
import sys


def main():
    symbols = json.load(open(sys.argv[1]))["symbols"]
    # Declarations that the compiler adds, such as `==` of a structure, have no place in the sources.
    written = [symbol for symbol in symbols if "location" in symbol]
    bare = [symbol for symbol in written if "docComment" not in symbol]
    for symbol in bare:
        position = symbol["location"]["position"]
        print(f"{symbol['location']['uri']}:{position['line'] + 1}: {'.'.join(symbol['pathComponents'])} has no comment")
    sys.exit(bool(bare) or not written)


if __name__ == "__main__":
    main()
