#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""cpython_tests: runs one module of CPython's own tests, or of a package's.

usage: cpython_tests.py MODULE RESULTS [TEST]...

Writes "TEST result" lines to RESULTS, one as soon as a test has ended; with
TESTs only these are run. A test that leaves the network or that needs much
time or space is skipped, as the test suite does by default.
"""
import sys
import unittest

from test import support

# These bring tests of their own; all others are CPython's.
PACKAGES = ("tornado.", "twisted.")
# Sockets between a virtual machine and its host: in some machines a connection
# to oneself never comes.
OTHER_FAMILIES = ("VSOCK",)
# The modules whose "network" is this host.
LOCAL_NETWORK = {"test_socketserver"}


class Result(unittest.TestResult):
    """Says of each test how it ended; nothing else."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.state = None

    def say(self, test, word):
        self.file.write(f"{test.id()} {word}\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.state = "ok"
        sys.stderr.write(f"{test.id()}\n")

    def stopTest(self, test):
        super().stopTest(test)
        self.say(test, self.state)

    def addError(self, test, err):
        super().addError(test, err)
        self.bad(test, "error", err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.bad(test, "failed", err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.bad(test, "failed", err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.state = "skipped"

    def bad(self, test, word, err):
        self.state = word
        sys.stderr.write(self._exc_info_to_string(err, test) + "\n")
        # Errors of a module or class have no start and no stop.
        if not isinstance(test, unittest.TestCase):
            self.say(test, word)


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def main():
    module, results, *wanted = sys.argv[1:]
    support.use_resources = ["network"] if module in LOCAL_NETWORK else []
    support.verbose = False
    if not module.startswith(PACKAGES):
        module = f"test.{module}"
    suite = unittest.defaultTestLoader.loadTestsFromName(module)
    suite = unittest.TestSuite(
        test
        for test in tests_of(suite)
        if (not wanted or test.id() in wanted)
        and not any(name in test.id() for name in OTHER_FAMILIES)
    )
    with open(results, "w", encoding="utf-8") as file:
        suite.run(Result(file))
        file.write("# end\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
