"""Unit tests of environment.py."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import environment


class EnvironmentTest(unittest.TestCase):
    def assertFinds(self, line):
        self.assertEqual([number for number, _ in environment.findings(line)], [1], line)

    def assertGood(self, line):
        self.assertEqual(list(environment.findings(line)), [], line)

    def test_direct_uses(self):
        for line in [
            "clock_gettime(CLOCK_REALTIME, &now)", "let now = Int64(time(nil))", "let start = ContinuousClock.now",
            "let clock = ContinuousClock()", "try? await Task.sleep(for: pause)", "usleep(50)",
            "var generator = SystemRandomNumberGenerator()", "let seed = Int.random(in: 0..<9)", "id: .random(),",
            "let word = words.randomElement()", "let id = UUID()", "pthread_create(&thread, nil, { _ in nil }, nil)",
            "reconnection.failed(status, at: .now, random: 0)",
        ]:
            self.assertFinds(line)

    def test_what_comes_in(self):
        for line in [
            "let now = environment.now()", "try await environment.sleep(for: pause)", "func check(at now: ContinuousClock.Instant) {",
            "Int.random(in: 0..<9, using: &generator)", "// calls clock_gettime(CLOCK_REALTIME, &now)",
            'let text = "Date()"', "let wall = wallClock()", "var date = Date(timeIntervalSince1970: 0)",
            "let bits = environment.random()",
        ]:
            self.assertGood(line)

    def test_list(self):
        self.assertEqual(
            environment.listed("# comment\n\na/B.swift: 2 the clock itself\nc.swift: why\n"),
            {"a/B.swift": (2, "the clock itself"), "c.swift": (0, "")})

    def test_the_longest_entry_counts(self):
        entries = environment.listed("a: 1 r\na/b: 1 r\na/b/C.swift: 1 r\n")
        self.assertEqual(environment.entry("a/b/C.swift", entries), "a/b/C.swift")
        self.assertEqual(environment.entry("a/b/D.swift", entries), "a/b")
        self.assertEqual(environment.entry("ab/D.swift", entries), "ab/D.swift")


if __name__ == "__main__":
    unittest.main()
