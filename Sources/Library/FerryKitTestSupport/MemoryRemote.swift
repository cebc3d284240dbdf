package import DocumentClient
package import DocumentModel
import FirestoreProtocol

/// A remote in memory that is as strict as the real one and never waits: it orders commits, checks
/// preconditions, and knows what a listen stream reports from any earlier point.
///
/// `@unchecked Sendable`: `ServedRemote` uses it only under its lock, other tests from one task.
package final class MemoryRemote: @unchecked Sendable {
    package private(set) var documents: [DocumentName: Document] = [:]
    /// The commits that changed something, with the changed documents; nil for a deleted one.
    package private(set) var log: [(time: Timestamp, changes: [(DocumentName, Document?)])] = []
    private var now: Int64 = 1_000_000_000_000_000
    /// Rejects a whole commit, as rules and limits do.
    package var refuses: (Write) -> RemoteError.Code? = { _ in nil }
    package private(set) var commitCount = 0
    package private(set) var refusedCount = 0

    package init() {}

    package func tick() -> Timestamp {
        now += 1
        return Timestamp(microseconds: now)
    }

    package func commit(_ writes: [Write]) throws -> CommitResult {
        commitCount += 1
        let time = tick()
        var after = documents
        var changed: [DocumentName] = []
        var results: [WriteResult] = []
        for write in writes {
            if let code = refuses(write) {
                refusedCount += 1
                throw RemoteError(code, "refused")
            }
            do {
                let outcome = try WriteApplication.apply(write, to: after[write.name], at: time)
                after[write.name] = outcome.document
                if outcome.changed, !changed.contains(write.name) { changed.append(write.name) }
                results.append(outcome.result)
            } catch {
                refusedCount += 1
                let isPrecondition = error.code != .invalidArgument
                throw RemoteError(isPrecondition ? .precondition : .invalid, error.message)
            }
        }
        documents = after
        if !changed.isEmpty { log.append((time, changed.map { ($0, after[$0]) })) }
        return CommitResult(writeResults: results, commitTime: time)
    }

    package func read(_ names: [DocumentName]) -> RemoteRead {
        RemoteRead(
            found: names.compactMap { documents[$0].map { EncodedDocument($0) } },
            missing: names.filter { documents[$0] == nil }, readTime: tick())
    }

    package func results(of query: Query) throws -> RemoteRead {
        do {
            let found = try QueryPlan(query).results(among: documents.values).documents
            return RemoteRead(found: found.map { EncodedDocument($0) }, missing: [], readTime: tick())
        } catch {
            throw RemoteError(.invalid, error.message, cause: error)
        }
    }

    /// Forgets the log, which makes older resume tokens invalid.
    package func forgetHistory() { forgotten = log.count }
    private var forgotten = 0

    /// Returns the events of a new target until it is current, without the boundary.
    package func start(_ target: RemoteTarget) -> [RemoteEvent] {
        var events: [RemoteEvent] = [.targetChange(.init(.added, targetIDs: [target.id]))]
        let position = Int(String(decoding: target.resumeToken, as: UTF8.self)) ?? -1
        if position >= forgotten, position <= log.count {
            events += news([target], after: position)
        } else {
            if !target.resumeToken.isEmpty { events.append(.targetChange(.init(.reset, targetIDs: [target.id]))) }
            for document in matching(target) {
                events.append(.changed(EncodedDocument(document), added: [target.id], removed: []))
            }
        }
        events.append(.filter(target: target.id, count: Int32(matching(target).count)))
        events.append(.targetChange(.init(.current, targetIDs: [target.id])))
        return events
    }

    /// Returns one boundary for each commit since `position`.
    package func news(_ targets: [RemoteTarget], after position: Int) -> [RemoteEvent] {
        var events: [RemoteEvent] = []
        for index in min(position, log.count)..<log.count {
            let commit = log[index]
            for (name, document) in commit.changes {
                for target in targets {
                    if let document, matches(document, target) {
                        events.append(.changed(EncodedDocument(document), added: [target.id], removed: []))
                    } else if let document {
                        events.append(.changed(EncodedDocument(document), added: [], removed: [target.id]))
                    } else {
                        events.append(.deleted(name, removed: [target.id], readTime: commit.time))
                    }
                }
            }
            events.append(boundary(at: index + 1))
        }
        return events
    }

    /// Returns a boundary after everything that was reported so far.
    package func boundary() -> RemoteEvent { boundary(at: log.count) }

    package func matching(_ target: RemoteTarget) -> [Document] {
        documents.values.filter { matches($0, target) }.sorted { $0.name.path < $1.name.path }
    }

    private func matches(_ document: Document, _ target: RemoteTarget) -> Bool {
        (try? QueryPlan(target.query))?.matches(document) ?? false
    }

    private func boundary(at position: Int) -> RemoteEvent {
        let time = position < log.count && position > 0 ? log[position - 1].time : tick()
        return .targetChange(
            .init(.noChange, resumeToken: Array("\(position)".utf8), readTime: time))
    }
}
