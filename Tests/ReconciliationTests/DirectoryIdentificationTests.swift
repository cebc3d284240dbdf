import Reconciliation
import TaskModel
import Testing

/// The lists of directories, by what shells and git do to them.
@Suite struct DirectoryIdentificationTests {
    private func path(_ text: String) -> [FileName] { text.split(separator: "/").map { FileName(String($0)) } }

    private func number(_ number: UInt64) -> Stamp.File { Stamp.File(device: 1, inode: number) }

    private func seen(_ text: String, _ file: UInt64?, files: Set<UInt64> = []) -> ObservedDirectory {
        ObservedDirectory(path(text), file: file.map(number), files: Set(files.map(number)))
    }

    private func known(_ list: String, _ text: String, _ file: UInt64?, files: Set<UInt64> = []) -> KnownDirectory {
        KnownDirectory(ListID(list), at: path(text), file: file.map(number), files: Set(files.map(number)))
    }

    private func list(_ result: DirectoryIdentities, _ text: String) -> String? { result.lists[path(text)]?.rawValue }

    @Test func `two directories that swapped names swap`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch([seen("A", 2), seen("B", 1)], known: [known("a", "A", 1), known("b", "B", 2)]))
        #expect(list(result, "A") == "b")
        #expect(list(result, "B") == "a")
        #expect(result.missing == [])
    }

    @Test func `a directory that moved into another is its list, whatever depth it has now`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch(
                [seen("Home", 1), seen("Home/Work", 2), seen("Home/Work/Deep", 3)],
                known: [known("h", "Home", 1), known("w", "Work", 2), known("d", "Work/Deep", 3)]))
        #expect(list(result, "Home/Work") == "w")
        #expect(list(result, "Home/Work/Deep") == "d")
    }

    @Test func `a directory that was removed and made again is its list`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch([seen("A", 9), seen("A/B", 8)], known: [known("a", "A", 1), known("b", "A/B", 2)]))
        #expect(list(result, "A") == "a")
        #expect(list(result, "A/B") == "b")
        #expect(result.evidence[path("A")] == .place)
    }

    @Test func `a renamed directory without a known number is known by its files, and those in it by their names`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch(
                [seen("New", 5, files: [10, 11]), seen("New/Deep", 6), seen("Other", 7, files: [12])],
                known: [known("a", "Old", nil, files: [10, 11, 12]), known("d", "Old/Deep", nil)]))
        #expect(list(result, "New") == "a")
        #expect(list(result, "New/Deep") == "d")
        #expect(list(result, "Other") == nil)
    }

    @Test func `a directory that got the files of one that is still there is no rename`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch(
                [seen("A", 1), seen("New", 5, files: [10, 11])], known: [known("a", "A", 1, files: [10, 11])]))
        #expect(list(result, "A") == "a")
        #expect(list(result, "New") == nil)
    }

    @Test func `half of the files of a list are not enough`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch(
                [seen("X", 5, files: [10]), seen("Y", 6, files: [11])], known: [known("a", "A", 1, files: [10, 11])]))
        #expect(list(result, "X") == nil)
        #expect(list(result, "Y") == nil)
        #expect(result.missing == [ListID("a")])
    }

    @Test func `files that are gone, too, do not count`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch([seen("X", 5, files: [10])], known: [known("a", "A", 1, files: [10, 11, 12])]))
        #expect(list(result, "X") == "a")
    }

    @Test func `a list below a directory that cannot be read is not missing, nor found elsewhere by its files`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch(
                [seen("A", 1), seen("X", 5, files: [10])],
                known: [known("a", "A", 1), known("b", "A/B", 2, files: [10])], unreachable: [path("A")]))
        #expect(list(result, "X") == nil)
        #expect(result.missing == [])
    }

    @Test func `a directory that cannot be listed may be a missing one under a new name`() {
        var batch = DirectoryBatch([seen("New", nil)], known: [known("a", "A", nil, files: [10])])
        #expect(DirectoryIdentification.identify(batch).missing == [ListID("a")])
        batch.isHiding = true
        #expect(DirectoryIdentification.identify(batch).missing == [])
    }

    @Test func `a directory that meets its document for the first time is adopted`() {
        let result = DirectoryIdentification.identify(
            DirectoryBatch([seen("A", 1), seen("B", 2)], known: [], unfiled: [ListID("a"): path("A")]))
        #expect(list(result, "A") == "a")
        #expect(list(result, "B") == nil)
    }

    @Test func `the order of the reports does not matter`() {
        let directories = [seen("A", 2, files: [1]), seen("B", 3), seen("C", 1), seen("A/D", 4)]
        let known = [known("a", "A", 1), known("b", "B", 2), known("c", "C", 3), known("d", "B/D", 7)]
        let first = DirectoryIdentification.identify(DirectoryBatch(directories, known: known))
        let second = DirectoryIdentification.identify(DirectoryBatch(directories.reversed(), known: known.reversed()))
        #expect(first == second)
        #expect(list(first, "A/D") == "d")
    }
}

/// The attachments of files, by what programs do to them.
@Suite struct AttachmentIdentificationTests {
    private func stamp(_ inode: UInt64, size: Int64 = 10) -> Stamp {
        let time = Stamp.Time(seconds: 1, nanoseconds: 1)
        return Stamp(file: .init(device: 1, inode: inode), size: size, modified: time, changed: time)
    }

    private func digest(_ number: UInt64) -> ContentDigest { ContentDigest(number, 0, 0, 0) }

    private func seen(_ name: String, _ inode: UInt64, _ contents: UInt64, size: Int64 = 10) -> ObservedAttachment {
        ObservedAttachment(FileName(name), stamp: stamp(inode, size: size), digest: digest(contents))
    }

    private func known(_ id: String, _ name: String, _ inode: UInt64, _ contents: UInt64) -> KnownAttachment {
        KnownAttachment(AttachmentID(id), FileName(name), stamp: stamp(inode), digest: digest(contents))
    }

    private func id(_ result: AttachmentIdentities, _ name: String) -> String? {
        result.files[FileName(name)]?.rawValue
    }

    @Test func `two files that swapped names swap`() {
        let result = AttachmentIdentification.identify(
            [seen("a", 2, 2), seen("b", 1, 1)], known: [known("A", "a", 1, 1), known("B", "b", 2, 2)])
        #expect(id(result, "a") == "B")
        #expect(id(result, "b") == "A")
    }

    @Test func `a rename by a copy and a delete is known by its contents`() {
        let result = AttachmentIdentification.identify([seen("new", 9, 1)], known: [known("A", "a", 1, 1)])
        #expect(id(result, "new") == "A")
        #expect(result.evidence[FileName("new")] == .contents)
        #expect(result.missing == [])
    }

    @Test func `a copy is a new attachment`() {
        let result = AttachmentIdentification.identify(
            [seen("a", 1, 1), seen("copy", 9, 1)], known: [known("A", "a", 1, 1)])
        #expect(id(result, "a") == "A")
        #expect(id(result, "copy") == nil)
    }

    @Test func `a copy of one file over another is a new version of the other`() {
        let result = AttachmentIdentification.identify(
            [seen("a", 1, 1), seen("b", 9, 1)], known: [known("A", "a", 1, 1), known("B", "b", 2, 2)])
        #expect(id(result, "a") == "A")
        #expect(id(result, "b") == "B")
    }

    @Test func `a save by a rename is the same attachment, also one whose number another had`() {
        let result = AttachmentIdentification.identify([seen("a", 9, 5)], known: [known("A", "a", 1, 1)])
        #expect(id(result, "a") == "A")
        let reused = AttachmentIdentification.identify(
            [seen("new", 1, 5, size: 11)], known: [known("A", "a", 1, 1)])
        #expect(id(reused, "new") == nil)
        #expect(reused.missing == [AttachmentID("A")])
    }

    @Test func `an empty file is not known by its contents`() {
        let empty = KnownAttachment(AttachmentID("A"), FileName("a"), stamp: stamp(1, size: 0), digest: digest(0))
        let result = AttachmentIdentification.identify([seen("new", 9, 0, size: 0)], known: [empty])
        #expect(id(result, "new") == nil)
    }

    @Test func `a file that meets its document for the first time is adopted`() {
        let document = known("A", "a", 0, 1)
        #expect(id(AttachmentIdentification.identify([seen("a", 3, 1)], known: [], unfiled: [document]), "a") == "A")
        #expect(id(AttachmentIdentification.identify([seen("a", 3, 2)], known: [], unfiled: [document]), "a") == nil)
    }
}
