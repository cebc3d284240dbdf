import Foundation
import Reconciliation
import ReconciliationTestKit
import TaskModel
import Testing

/// Every cell of the table, for every kind of node, as effects on trees.
@Suite struct ReconciliationTableTests {
    /// One cell: the changes of both sides, and what both sides hold after the plan.
    struct Cell: Sendable, CustomTestStringConvertible {
        let local: Change
        let remote: Change
        let resolution: Resolution
        /// The number in the file's contents afterwards; `nil` for no file.
        let file: Int?
        /// The number in the living document's contents afterwards.
        let document: Int?

        var testDescription: String { "file \(local.rawValue), document \(remote.rawValue)" }
    }

    /// The base is 1, the file's change 2, and the document's change 3. A merge keeps the file's value.
    static let cells: [Cell] = [
        Cell(local: .unchanged, remote: .unchanged, resolution: .none, file: 1, document: 1),
        Cell(local: .unchanged, remote: .changed, resolution: .exportFile, file: 3, document: 3),
        Cell(local: .unchanged, remote: .absent, resolution: .trashFile, file: nil, document: nil),
        Cell(local: .unchanged, remote: .unknown, resolution: .wait, file: 1, document: nil),
        Cell(local: .changed, remote: .unchanged, resolution: .importFile, file: 2, document: 2),
        Cell(local: .changed, remote: .changed, resolution: .merge, file: 2, document: 2),
        Cell(local: .changed, remote: .absent, resolution: .restoreDocument, file: 2, document: 2),
        Cell(local: .changed, remote: .unknown, resolution: .wait, file: 2, document: nil),
        Cell(local: .absent, remote: .unchanged, resolution: .trashDocument, file: nil, document: nil),
        Cell(local: .absent, remote: .changed, resolution: .restoreFile, file: 3, document: 3),
        Cell(local: .absent, remote: .absent, resolution: .forget, file: nil, document: nil),
        Cell(local: .absent, remote: .unknown, resolution: .wait, file: nil, document: nil),
        Cell(local: .unknown, remote: .unchanged, resolution: .wait, file: nil, document: 1),
        Cell(local: .unknown, remote: .changed, resolution: .wait, file: nil, document: 3),
        Cell(local: .unknown, remote: .absent, resolution: .wait, file: nil, document: nil),
        Cell(local: .unknown, remote: .unknown, resolution: .wait, file: nil, document: nil),
    ]

    @Test func `the table has a cell for every pair of changes`() {
        let pairs = Set(Self.cells.map { [$0.local, $0.remote] })
        #expect(pairs.count == Change.allCases.count * Change.allCases.count)
    }

    @Test(arguments: cells) func `the table names the resolution`(_ cell: Cell) {
        #expect(ReconciliationTable.resolution(local: cell.local, remote: cell.remote) == cell.resolution)
    }

    @Test(arguments: cells, [NodeKind.task, .attachment])
    func `a file and its document come to what the cell says`(_ cell: Cell, _ kind: NodeKind) throws {
        var played = Played(kind, cell)
        played.run()
        let file = played.replica.trees.local[played.id].file
        let document = played.server[played.id].node
        #expect(file?.contents == cell.file.map { SampleContents($0).contents(of: kind) })
        #expect(document?.state.contents == cell.document.map { SampleContents($0).contents(of: kind) })
        #expect((played.plan.reasons[played.id] != nil) == (cell.resolution == .wait))
    }

    @Test(arguments: cells) func `a directory and its list come to what the cell says`(_ cell: Cell) throws {
        var played = Played(.list, cell)
        played.run()
        let file = played.replica.trees.local[played.id].file
        let document = played.server[played.id].node
        #expect(file?.location.fileName == cell.file.map { FileName("N\($0)") })
        #expect(document?.state.name == cell.document.map { FileName("N\($0)") })
        #expect((played.plan.reasons[played.id] != nil) == (cell.resolution == .wait))
    }

    /// One node in the state of a cell, and what becomes of it.
    private struct Played {
        let id: NodeID
        var replica: ModelReplica
        var server: ModelServer
        var plan: Plan

        init(_ kind: NodeKind, _ cell: Cell) {
            let task = TaskID("T")
            let (id, parent): (NodeID, NodeID?) =
                switch kind {
                case .list: (.list(ListID("L")), nil)
                case .task: (.task(task), nil)
                case .attachment: (.attachment(AttachmentID("F"), of: task), .task(task))
                }
            // A directory has no contents, so a list's change is another name.
            func state(_ number: Int) -> TreeCase.State {
                TreeCase.State(parent, kind == .list ? "N\(number)" : "N", SampleContents(kind == .list ? 0 : number))
            }
            func file(_ number: Int) -> TreeCase.Local {
                .file(parent, state(number).name + (kind == .task ? ".md" : ""), state(number).contents)
            }
            let local: TreeCase.Local =
                switch cell.local {
                case .unchanged: file(1)
                case .changed: file(2)
                case .absent: .absent
                case .unknown: .unreachable(.unreadable)
                }
            let remote: TreeCase.Remote =
                switch cell.remote {
                case .unchanged: .living(state(1))
                case .changed: .living(state(3))
                case .absent: .absent
                case .unknown: .unknown
                }
            let node = TreeCase.Node(
                id, synced: state(1), at: parent, called: state(1).name + (kind == .task ? ".md" : ""), local: local,
                remote: remote)
            let owner = TreeCase.State(nil, "Owner", SampleContents(9))
            let owning = TreeCase.Node(
                .task(task), synced: owner, called: "Owner.md", local: .file(nil, "Owner.md", owner.contents),
                remote: .living(owner))
            let trees = TreeCase(kind == .attachment ? [owning, node] : [node]).trees
            self.id = id
            replica = ModelReplica(trees)
            server = ModelServer(trees.remote)
            plan = Planner.plan(trees)
        }

        /// Performs plans until one has no operations: a transfer is followed by what it makes possible.
        mutating func run() {
            for _ in 0..<4 where !plan.operations.isEmpty {
                #expect(replica.perform(plan.operations, on: &server) == [])
                plan = Planner.plan(replica.trees, replica.conditions)
            }
            #expect(plan.operations == [])
        }
    }

    @Test func `the documentation has the tables of the code`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Documentation/reconciliation.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.contains(ReconciliationTable.markdown), "the page lacks:\n\(ReconciliationTable.markdown)")
        for table in [Evidence.markdown, DirectoryEvidence.markdown, AttachmentEvidence.markdown] {
            #expect(text.contains(table), "the page lacks:\n\(table)")
        }
    }
}
