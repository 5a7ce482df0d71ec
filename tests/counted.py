"""unittest with the last line that tools/run_tests reads, for the runners below this folder."""

import sys
import unittest


class Result(unittest.TextTestResult):
    """Counts what passed too; a test with several failing parts is one failed test."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.passed = 0

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)

    def failed(self):
        return len({getattr(test, "test_case", test).id() for test, _ in self.failures + self.errors})


def tests_of(suite):
    """Every single test of a suite of suites."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests_of(entry)
        else:
            yield entry


def run(tests, resultclass=Result):
    """The result of these tests (a suite or a list), each named as it runs."""
    return unittest.TextTestRunner(stream=sys.stdout, resultclass=resultclass, verbosity=2).run(unittest.TestSuite(tests))


def summary(passed, failed, skipped):
    """Prints `N passed, N failed, N skipped` and returns the exit code that belongs to it."""
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or passed == 0 else 0
