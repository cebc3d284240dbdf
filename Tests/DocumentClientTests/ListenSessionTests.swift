import DocumentModel
import FerryKitTestSupport
import FirestoreProtocol
import Testing

@testable import DocumentClient

@Suite struct ListenSessionTests {
    var session = ListenSession()
    let time = Timestamp(microseconds: 1_000_000_000)

    init() { _ = session.add(RemoteTarget(id: 1, query: tasksQuery, resumeToken: [1])) }

    func document(_ path: String) throws -> EncodedDocument {
        EncodedDocument(Document(name: try name(path), fields: [:], createTime: time, updateTime: time))
    }

    func boundary(_ seconds: Int64, token: [UInt8]) -> RemoteEvent {
        .targetChange(
            .init(.noChange, resumeToken: token, readTime: Timestamp(microseconds: seconds * 1_000_000)))
    }

    func targets(_ actions: [ListenSession.Action]) -> [RemoteTarget] {
        actions.flatMap { action -> [RemoteTarget] in
            switch action {
            case .open(let targets): targets
            case .add(let target): [target]
            default: []
            }
        }
    }

    func boundaries(_ actions: [ListenSession.Action]) -> [Boundary] {
        actions.compactMap { if case .apply(let boundary) = $0 { boundary } else { nil } }
    }

    @Test mutating func `events are delivered only at their boundary, and interrupted ones never`() throws {
        #expect(targets(session.open()).map(\.resumeToken) == [[1]])
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        #expect(boundaries(session.received(.changed(try document("tasks/a"), added: [1], removed: []))).isEmpty)
        #expect(boundaries(session.received(boundary(1, token: [2]))).map(\.items.count) == [1])
        _ = session.received(.changed(try document("tasks/b"), added: [1], removed: []))
        _ = session.ended(.transient)
        #expect(targets(session.open()).map(\.resumeToken) == [[2]])
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        #expect(boundaries(session.received(boundary(2, token: [3]))).isEmpty)
    }

    @Test mutating func `a target that is watched again at once is not taken for refused`() throws {
        let target = RemoteTarget(id: 1, query: tasksQuery)
        _ = session.open()
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        let removal = session.remove(1)
        #expect(removal.contains { if case .remove(1) = $0 { true } else { false } })
        // Nothing is requested until the remote has confirmed the removal.
        #expect(targets(session.add(target)).isEmpty)
        let confirmed = session.received(.targetChange(.init(.removed, targetIDs: [1])))
        #expect(targets(confirmed).map(\.id) == [1])
        #expect(!confirmed.contains { if case .refused = $0 { true } else { false } })
        // On another stream there is nothing to wait for.
        _ = session.remove(1)
        _ = session.add(target)
        _ = session.ended(.transient)
        #expect(targets(session.open()).map(\.id) == [1])
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        _ = session.received(.targetChange(.init(.current, targetIDs: [1])))
        #expect(boundaries(session.received(boundary(1, token: [2]))).map(\.targets) == [[1]])
    }

    @Test mutating func `a token that the remote does not know is dropped, and the target requested again`() throws {
        _ = session.open()
        let cause = RemoteError(.invalid, "bad resume token")
        let again = session.received(.targetChange(.init(.removed, targetIDs: [1], cause: cause)))
        #expect(targets(again).map(\.resumeToken) == [[]])
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        let actions = session.received(boundary(1, token: [2]))
        guard case .reset(let targets)? = boundaries(actions).first?.items.first else {
            Issue.record("expected a reset")
            return
        }
        #expect(targets == [1])
    }

    @Test mutating func `a refused target is reported and the others continue`() throws {
        _ = session.add(RemoteTarget(id: 2, query: Query(parent: ParentName(testDatabase), collectionID: "lists")))
        _ = session.open()
        _ = session.received(.targetChange(.init(.added, targetIDs: [1, 2])))
        let cause = RemoteError(.permission, "no")
        let refused = session.received(.targetChange(.init(.removed, targetIDs: [2], cause: cause)))
        #expect(refused.contains { if case .refused(2, _) = $0 { true } else { false } })
        _ = session.received(.changed(try document("tasks/a"), added: [1, 2], removed: []))
        let applied = boundaries(session.received(boundary(1, token: [2])))
        #expect(applied.map(\.targets) == [[1]])
    }

    /// The list has just been shared, and the rules of the remote do not know it yet.
    @Test mutating func `a refused target is requested again after a minute, and counts as refused until then`()
        throws
    {
        _ = session.open()
        func refuse(_ session: inout ListenSession) {
            _ = session.received(.targetChange(.init(.removed, targetIDs: [1], cause: RemoteError(.permission, "no"))))
        }
        refuse(&session)
        #expect(targets(session.received(boundary(100, token: [2]))).isEmpty)
        #expect(targets(session.received(boundary(159, token: [2]))).isEmpty)
        #expect(targets(session.received(boundary(160, token: [2]))).map(\.id) == [1])
        #expect(targets(session.received(boundary(300, token: [2]))).isEmpty)
        refuse(&session)
        #expect(targets(session.received(boundary(400, token: [2]))).isEmpty)
        #expect(boundaries(session.received(boundary(800, token: [2]))).map(\.isComplete) == [true])
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        _ = session.received(.changed(try document("tasks/a"), added: [1], removed: []))
        _ = session.received(.targetChange(.init(.current, targetIDs: [1])))
        #expect(boundaries(session.received(boundary(801, token: [2]))).map(\.targets) == [[1]])
    }

    @Test mutating func `a mismatch requests the target without a token, and ignores events before the response`()
        throws
    {
        _ = session.open()
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        let actions = session.restart([1])
        #expect(actions.contains { if case .remove(1) = $0 { true } else { false } })
        _ = session.received(.changed(try document("tasks/a"), added: [1], removed: []))
        #expect(targets(session.received(.targetChange(.init(.removed, targetIDs: [1])))).map(\.resumeToken) == [[]])
        _ = session.received(.targetChange(.init(.added, targetIDs: [1])))
        let items = boundaries(session.received(boundary(1, token: [2]))).flatMap(\.items)
        #expect(items.count == 1)
        #expect(items.allSatisfy { $0.name == nil })
    }

    @Test mutating func `a refused token requires a sign-in`() {
        _ = session.open()
        #expect(session.ended(.unauthenticated).contains { if case .signIn = $0 { true } else { false } })
    }
}

@Suite struct RemoteHistoryTests {
    @Test func `a remote that went back in time is noticed, and nothing of it is applied`() throws {
        let replica = try memoryReplica()
        let target = try replica.target(for: tasksQuery)
        func boundary(_ seconds: Int64, _ items: [Boundary.Item]) -> Boundary {
            Boundary(
                items: items, readTime: Timestamp(microseconds: seconds * 1_000_000), resumeToken: [1],
                targets: [target.id])
        }
        _ = try replica.receive(boundary(10_000, []))
        let gone = try name("tasks/a")
        let outcome = try replica.receive(boundary(5000, [.deleted(gone, readTime: nil)]))
        #expect(outcome.wentBack)
        #expect(try replica.file.row(gone.path)?.id == nil)
    }

    @Test func `a document missing after a reset is only gone when the remote says so`() throws {
        let remote = MemoryRemote()
        let replica = try memoryReplica()
        let (gone, moved) = (try name("tasks/gone"), try name("tasks/moved"))
        _ = try remote.commit([Write(.update(gone, fields: [:])), Write(.update(moved, fields: [:]))])
        let target = try replica.target(for: tasksQuery)
        let members = remote.matching(target).map { EncodedDocument($0) }
        let time = remote.tick()
        _ = try replica.receive(
            Boundary(
                items: [.reset([target.id])] + members.map { .changed($0, added: [target.id], removed: []) }
                    + [.current([target.id])], readTime: time, resumeToken: [1], targets: [target.id]))
        _ = try remote.commit([Write(.delete(gone))])
        let outcome = try replica.receive(
            Boundary(
                items: [.reset([target.id]), .current([target.id])], readTime: remote.tick(), resumeToken: [2],
                targets: [target.id]))
        #expect(Set(outcome.missing) == [gone, moved])
        #expect(try replica.snapshot(gone).exists && replica.snapshot(moved).exists)
        _ = try replica.resolveMissing(outcome.missing, remote.read(outcome.missing))
        let notices = try replica.reader.changes(after: 0, limit: 10)
        #expect(notices.first { $0.name == gone }?.isOutside == false)
        #expect(notices.first { $0.name == moved }?.isOutside == true)
        #expect(try replica.snapshot(gone).exists == false)
    }
}
