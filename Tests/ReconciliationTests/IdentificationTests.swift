import Reconciliation
import TaskModel
import Testing

/// The tasks of files, by what editors, shells, and git do to them.
@Suite struct IdentificationTests {
    private func stamp(_ inode: UInt64, _ version: Int64 = 0) -> Stamp {
        let time = Stamp.Time(seconds: version, nanoseconds: 1)
        return Stamp(file: .init(device: 1, inode: inode), size: 10 + version, modified: time, changed: time)
    }

    private func place(_ name: String, in directory: NodeID? = nil) -> Location { Location(directory, FileName(name)) }

    private func digest(_ number: UInt64) -> ContentDigest { ContentDigest(number, 0, 0, 0) }

    /// A known file of task `name`, called `name.md`, with the inode and contents `number`.
    private func known(_ name: String, _ number: UInt64, in directory: NodeID? = nil) -> KnownFile {
        KnownFile(
            TaskID(name), at: place("\(name).md", in: directory), stamp: stamp(number), digest: digest(number),
            lines: [number])
    }

    private func seen(
        _ path: String, inode: UInt64, version: Int64 = 0, mark: String? = nil, contents: UInt64,
        lines: Set<UInt64> = [],
        in directory: NodeID? = nil
    ) -> Observation {
        Observation(
            at: place(path, in: directory), stamp: stamp(inode, version), mark: mark.map { TaskID($0) },
            digest: digest(contents), lines: lines.isEmpty ? [contents] : lines)
    }

    private func task(_ identities: Identities, _ path: String, in directory: NodeID? = nil) -> String? {
        switch identities.files[place(path, in: directory)] {
        case .known(let task, _): task.rawValue
        case .new: "new"
        case .lookAgain: "look again"
        case .awaitsDocument: "awaits"
        case nil: nil
        }
    }

    @Test(arguments: [true, false]) func `two files that swapped names swap`(_ marked: Bool) {
        let result = Identification.identify(
            ObservationBatch(
                [
                    seen("A.md", inode: 2, mark: marked ? "B" : nil, contents: 2),
                    seen("B.md", inode: 1, mark: marked ? "A" : nil, contents: 1),
                ], known: [known("A", 1), known("B", 2)]))
        #expect(task(result, "A.md") == "B")
        #expect(task(result, "B.md") == "A")
        #expect(result.missing == [])
    }

    @Test func `files that were renamed in a cycle of a thousand, and edited, are found`() {
        let count: UInt64 = 1_000
        let result = Identification.identify(
            ObservationBatch(
                (0..<count).map {
                    seen("\(($0 + 1) % count).md", inode: $0, version: 5, mark: "\($0)", contents: 5_000 + $0)
                }, known: (0..<count).map { known("\($0)", $0) }))
        for number in 0..<count { #expect(task(result, "\((number + 1) % count).md") == "\(number)") }
    }

    @Test func `a chain of renames is followed whatever the order of the reports`() {
        let files = [
            seen("B.md", inode: 1, mark: "A", contents: 1), seen("C.md", inode: 2, mark: "B", contents: 2),
            seen("D.md", inode: 3, mark: "C", contents: 3),
        ]
        let known = [known("A", 1), known("B", 2), known("C", 3)]
        let batch = ObservationBatch(files, known: known, vacant: [place("A.md")])
        let reversed = ObservationBatch(files.reversed(), known: known.reversed(), vacant: [place("A.md")])
        let result = Identification.identify(batch)
        #expect(result == Identification.identify(reversed))
        #expect([task(result, "B.md"), task(result, "C.md"), task(result, "D.md")] == ["A", "B", "C"])
    }

    @Test func `an editor's save by a rename is the same task`() {
        let result = Identification.identify(
            ObservationBatch([seen("A.md", inode: 9, version: 3, contents: 30)], known: [known("A", 1)]))
        #expect(task(result, "A.md") == "A")
    }

    @Test func `a copy is a new task, also with the attribute and the time of the original`() {
        let result = Identification.identify(
            ObservationBatch(
                [seen("A.md", inode: 1, mark: "A", contents: 1), seen("Copy.md", inode: 5, mark: "A", contents: 1)],
                known: [known("A", 1)]))
        #expect(task(result, "A.md") == "A")
        #expect(task(result, "Copy.md") == "new")
    }

    @Test func `a hard link is a copy`() {
        let result = Identification.identify(
            ObservationBatch(
                [seen("A.md", inode: 1, mark: "A", contents: 1), seen("Link.md", inode: 1, mark: "A", contents: 1)],
                known: [known("A", 1)]))
        #expect(task(result, "A.md") == "A")
        #expect(task(result, "Link.md") == "new")
    }

    @Test func `the copy of a file that was then saved by a rename stays a copy`() {
        let result = Identification.identify(
            ObservationBatch(
                [
                    seen("A.md", inode: 9, version: 2, contents: 20, lines: [1, 20]),
                    seen("Copy.md", inode: 5, mark: "A", contents: 1),
                ], known: [known("A", 1)]))
        #expect(task(result, "A.md") == "A")
        #expect(task(result, "Copy.md") == "new")
    }

    @Test func `a file that took the place of another is its own task, and the other one is missing`() {
        let result = Identification.identify(
            ObservationBatch(
                [seen("A.md", inode: 2, mark: "B", contents: 2)], known: [known("A", 1), known("B", 2)],
                vacant: [place("B.md")]))
        #expect(task(result, "A.md") == "B")
        #expect(result.missing == [TaskID("A")])
    }

    @Test func `a file that was saved under a new name and renamed over a task's is that task's`() {
        let batch = ObservationBatch(
            [seen("A.md", inode: 2, mark: "B", contents: 2)], known: [known("A", 1), known("B", 2)],
            vacant: [place("B.md")], newborns: [TaskID("B"): Newborn(age: .seconds(3))])
        let result = Identification.identify(batch)
        #expect(task(result, "A.md") == "A")
        #expect(result.missing == [])
        #expect(result.dissolved == [TaskID("B"): TaskID("A")])
        var old = batch
        old.newborns = [TaskID("B"): Newborn(age: .seconds(11))]
        #expect(task(Identification.identify(old), "A.md") == "B")
    }

    @Test func `a move by a copy and a delete keeps the task`() {
        let both = Identification.identify(
            ObservationBatch([seen("X.md", inode: 7, contents: 1)], known: [known("A", 1)], vacant: [place("A.md")]))
        #expect(task(both, "X.md") == "A")
        // The copy was a task of its own by the time of the delete.
        let later = Identification.identify(
            ObservationBatch(
                [],
                known: [
                    known("A", 1),
                    KnownFile(TaskID("N"), at: place("X.md"), stamp: stamp(7), digest: digest(1), lines: [1]),
                ], vacant: [place("A.md")], newborns: [TaskID("N"): Newborn(age: .seconds(2))]))
        #expect(task(later, "X.md") == "A")
        #expect(later.dissolved == [TaskID("N"): TaskID("A")])
        #expect(later.missing == [])
    }

    @Test func `whether a file is a copy or was moved is looked at before it is decided`() {
        let result = Identification.identify(
            ObservationBatch([seen("X.md", inode: 7, contents: 1)], known: [known("A", 1)]))
        #expect(result.files[place("X.md")] == .lookAgain([place("A.md")]))
        #expect(result.missing == [])
    }

    @Test func `a renamed file is known although its old directory cannot be read`() {
        let batch = ObservationBatch(
            [seen("X.md", inode: 1, mark: "A", contents: 1)], known: [known("A", 1)], unreachable: [place("A.md")])
        #expect(task(Identification.identify(batch), "X.md") == "A")
        // The attribute alone may be that of a copy.
        let copied = ObservationBatch(
            [seen("X.md", inode: 8, mark: "A", contents: 1)], known: [known("A", 1)], unreachable: [place("A.md")])
        #expect(task(Identification.identify(copied), "X.md") == "look again")
    }

    @Test func `the number of a deleted file that a new one was given identifies nothing`() {
        let result = Identification.identify(
            ObservationBatch(
                [seen("New.md", inode: 1, version: 7, contents: 99)], known: [known("A", 1)], vacant: [place("A.md")]))
        #expect(task(result, "New.md") == "new")
        #expect(result.missing == [TaskID("A")])
        let unmarked = Identification.identify(
            ObservationBatch(
                [seen("New.md", inode: 1, version: 7, contents: 99)], known: [known("A", 1)], vacant: [place("A.md")],
                keepsMarks: false))
        #expect(task(unmarked, "New.md") == "A")
    }

    @Test func `a switch of branches replaces files, moves some, and doubles none`() {
        let list = NodeID.list(ListID("L"))
        var files: [Observation] = []
        var known: [KnownFile] = []
        var vacant = Set<Location>()
        for number: UInt64 in 0..<2_000 {
            known.append(self.known("\(number)", number))
            switch number % 4 {
            case 0: files.append(seen("\(number).md", inode: number, contents: number))
            case 1: files.append(seen("\(number).md", inode: 10_000 + number, version: 4, contents: 20_000 + number))
            case 2:
                files.append(seen("\(number).md", inode: 10_000 + number, version: 4, contents: number, in: list))
                vacant.insert(place("\(number).md"))
            default: vacant.insert(place("\(number).md"))
            }
        }
        let result = Identification.identify(ObservationBatch(files, known: known, vacant: vacant))
        for number: UInt64 in 0..<2_000 where number % 4 < 3 {
            #expect(task(result, "\(number).md", in: number % 4 == 2 ? list : nil) == "\(number)")
        }
        #expect(result.missing.count == 500)
    }

    @Test func `a file that moved and was edited is known by its name and a line`() {
        let list = NodeID.list(ListID("L"))
        let files = [seen("A.md", inode: 5, contents: 50, lines: [1, 50], in: list)]
        let batch = ObservationBatch(files, known: [known("A", 1)], vacant: [place("A.md")])
        #expect(task(Identification.identify(batch), "A.md", in: list) == "A")
        var other = batch
        other.observations[0].lines = [50]
        #expect(task(Identification.identify(other), "A.md", in: list) == "new")
    }

    @Test func `a file that comes back within minutes continues the deleted task`() {
        func batch(_ time: Duration) -> ObservationBatch {
            let deleted = UnfiledDocument(TaskID("A"), at: place("A.md"), digest: digest(1), deletedFor: time)
            return ObservationBatch([seen("A.md", inode: 3, contents: 8)], known: [], unfiled: [deleted])
        }
        #expect(task(Identification.identify(batch(.seconds(299))), "A.md") == "A")
        #expect(task(Identification.identify(batch(.seconds(301))), "A.md") == "new")
    }

    @Test func `files that meet their documents for the first time are adopted`() {
        let document = UnfiledDocument(TaskID("A"), at: place("A.md"), digest: digest(1))
        let same = ObservationBatch([seen("A.md", inode: 3, contents: 1)], known: [], unfiled: [document])
        #expect(task(Identification.identify(same), "A.md") == "A")
        let other = ObservationBatch([seen("A.md", inode: 3, contents: 2)], known: [], unfiled: [document])
        #expect(task(Identification.identify(other), "A.md") == "new")
    }

    @Test func `a file that names an unknown task waits for the server`() {
        let files = [seen("A.md", inode: 3, mark: "Z", contents: 1)]
        let waiting = ObservationBatch(files, known: [], isServerCurrent: false)
        #expect(task(Identification.identify(waiting), "A.md") == "awaits")
        #expect(task(Identification.identify(ObservationBatch(files, known: [])), "A.md") == "new")
    }

    @Test func `while a directory cannot be listed, no missing file is gone, and renamed ones are known`() {
        let batch = ObservationBatch(
            [seen("X.md", inode: 2, mark: "B", contents: 2)], known: [known("A", 1), known("B", 2)],
            vacant: [place("A.md"), place("B.md")], isHiding: true)
        let result = Identification.identify(batch)
        #expect(task(result, "X.md") == "B")
        #expect(result.missing == [])
    }

    @Test func `names of two Unicode forms are two files`() {
        let result = Identification.identify(
            ObservationBatch(
                [seen("e\u{301}.md", inode: 5, contents: 70)], known: [known("\u{E9}", 1)],
                vacant: [place("\u{E9}.md")]))
        #expect(task(result, "e\u{301}.md") == "new")
    }
}
