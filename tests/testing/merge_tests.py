#!/usr/bin/python3
"""Writes one CTestTestfile.cmake that runs tests of several build folders under one summary.

usage: merge_tests.py OUTPUT-FOLDER [PREFIX=BUILD-FOLDER[:LABEL]]...

A test of build folder B is named PREFIX + its name; with LABEL only the tests that carry it are
taken. Where CI is set a skipped test is a failed one: SKIP_RETURN_CODE is left out, and a
GTEST_SKIP fails where the test is labelled root. (A processor without AVX-512 may skip what needs
it.)
"""

import json
import os
import subprocess
import sys


def quoted(text):
    return "[==[" + str(text) + "]==]"


def value_of(value):
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if isinstance(value, list):
        return ";".join(str(item) for item in value)
    return str(value)


def tests_in(folder, label):
    command = ["ctest", "--test-dir", folder, "--show-only=json-v1"]
    if label:
        command += ["-L", label]
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(shown.stdout)["tests"]


def lines_for(prefix, test, skips_fail):
    name = quoted(prefix + test["name"])
    if "command" not in test:
        raise SystemExit(f"merge_tests: {prefix}{test['name']}: its program is not built")
    yield f"add_test({name} {' '.join(quoted(word) for word in test['command'])})"
    properties = {p["name"]: p["value"] for p in test["properties"]}
    if skips_fail:
        properties.pop("SKIP_RETURN_CODE", None)
        if "root" in properties.get("LABELS", []):
            # GoogleTest says "[  SKIPPED ] Name" and exits with 0.
            properties["FAIL_REGULAR_EXPRESSION"] = "\\[  SKIPPED \\]"
    for key, value in properties.items():
        yield f"set_tests_properties({name} PROPERTIES {key} {quoted(value_of(value))})"


def main():
    output, *sources = sys.argv[1:]
    skips_fail = os.environ.get("CI", "").lower() in ("true", "1")
    lines = []
    for source in sources:
        prefix, _, folder = source.partition("=")
        folder, _, label = folder.partition(":")
        for test in tests_in(folder, label):
            lines += lines_for(prefix, test, skips_fail)
    os.makedirs(output, exist_ok=True)
    with open(os.path.join(output, "CTestTestfile.cmake"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
