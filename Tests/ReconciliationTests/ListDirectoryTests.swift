import Reconciliation
import Testing

/// Whether a directory that is found in the place of a list's is another one.
@Suite struct ListDirectoryTests {
    private struct Case: CustomTestStringConvertible {
        var name: String
        var known: ListDirectory
        var found: ListDirectory
        var expected = 3
        var present = 0
        var covers: Bool
        var testDescription: String { name }
    }

    private static func directory(_ mark: String?, isMount: Bool = false) -> ListDirectory {
        ListDirectory(mark: mark, isMount: isMount)
    }

    private static let cases = [
        Case(name: "the same", known: directory("a"), found: directory("a"), covers: false),
        Case(
            name: "the same at another mount, of which a backup has the marks", known: directory("a"),
            found: directory("a", isMount: true), covers: false),
        Case(
            name: "the mount is gone", known: directory("a", isMount: true), found: directory(nil), covers: true),
        Case(
            name: "the mount is gone, and its mount point was the list's directory before",
            known: directory("b", isMount: true), found: directory("a"), covers: true),
        Case(
            name: "a mount that keeps no marks is gone", known: directory(nil, isMount: true), found: directory(nil),
            covers: true),
        Case(
            name: "something is mounted over it", known: directory("a"), found: directory(nil, isMount: true),
            covers: true),
        Case(
            name: "another one is mounted", known: directory("a", isMount: true), found: directory(nil, isMount: true),
            covers: true),
        Case(
            name: "two mounts that keep no marks look alike", known: directory(nil, isMount: true),
            found: directory(nil, isMount: true), covers: false),
        Case(
            name: "removed and made again by its user", known: directory("a"), found: directory(nil), covers: false),
        Case(
            name: "the mount of a list without tasks is gone", known: directory("a", isMount: true),
            found: directory(nil), expected: 0, covers: true),
        Case(
            name: "something is mounted over a list without tasks", known: directory("a"),
            found: directory(nil, isMount: true), expected: 0, covers: false),
        Case(
            name: "most files are also beneath the mount that is gone", known: directory("l/b", isMount: true),
            found: directory("l/a"), present: 2, covers: true),
        Case(
            name: "the files were copied there", known: directory("a", isMount: true), found: directory(nil),
            present: 2, covers: false),
        Case(
            name: "a few old files were beneath the mount", known: directory("a", isMount: true), found: directory(nil),
            present: 1, covers: true),
    ]

    @Test(arguments: cases) private func `another directory covers a list`(_ test: Case) {
        #expect(test.found.covers(test.known, expected: test.expected, present: test.present) == test.covers)
    }
}
