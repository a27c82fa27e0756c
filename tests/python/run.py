# SPDX-License-Identifier: Apache-2.0
"""run.py [MODULE...] - unittest over this folder; ends with "N passed, N failed, N skipped". A check in a subTest counts by itself."""
import pathlib
import sys
import unittest
import warnings


class Counted(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        self.passed += error is None


def main():
    warnings.simplefilter("ignore", ResourceWarning)
    here = pathlib.Path(__file__).parent
    sys.path.insert(0, str(here))
    names = sys.argv[1:] or sorted(path.stem for path in here.glob("test_*.py"))
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in names)
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Counted, verbosity=0, buffer=True).run(suite)
    for test, why in result.skipped:
        print(f"  skipped: {test}: {why}")
    for test, _ in [*result.failures, *result.errors]:
        print(f"  FAILED: {test}")
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(failed > 0)


main()
