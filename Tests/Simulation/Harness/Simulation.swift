import DocumentClient
package import DocumentModel
import DocumentStore
import FirestoreProtocol
import Glibc
import ObjectStorage
import SystemIO
import SystemService
import TaskFolder
import TaskModel
import TaskSync

/// A run of a plan: several machines, one store, a network, users, and everything that can fail.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
package final class Simulation: @unchecked Sendable {
    package static let database = DatabaseName(project: "ferry")

    let scheduler: Scheduler
    let store: MemoryDocumentStore
    let objects: MemoryObjectStore
    let server = SimulatedServer()
    let machines: [SimulatedMachine]
    /// The machines except those that have left.
    var present: [SimulatedMachine] { machines.filter { !$0.hasLeft } }
    var words = Words()
    var completions = Completions()
    var blockedLists: [BlockedList] = []
    /// The lists over which something is mounted, by the numbers of their directories.
    var coveredLists: [(machine: SimulatedMachine, directory: UInt64)] = []
    /// The places aside of those whose blockers were removed before they were put back.
    var removedBlockers: Set<String> = []
    /// Whether a power cut, or an editor that could not continue, may have left a file empty for
    /// long.
    var leavesEmptyFiles = false
    /// The events of the run in words.
    package private(set) var story: [String] = []
    package private(set) var violations: [String] = []
    package private(set) var userActionCount = 0
    private let plan: Plan
    /// Whether users create nested directories.
    var isNested: Bool { plan.isNested }
    private var left: [Action]
    /// Copies of machines for the planner, made just after users acted.
    private var copies: [(copy: MachineCopy, action: Action.Kind)] = []
    private let isShadowed: Bool
    private let directory: String

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - scratch: A directory for files that are read and written by path, in memory if possible.
    ///   - isShadowed: Whether the planner plans from the state after each action of a user.
    package init(_ plan: Plan, _ scheduler: Scheduler, scratch: String, isShadowed: Bool = false) throws {
        self.plan = plan
        self.isShadowed = isShadowed
        left = plan.actions
        self.scheduler = scheduler
        store = MemoryDocumentStore(Self.database, inheritedFields: ["listId"]) {
            Self.timestamp(scheduler.now).microseconds
        }
        objects = MemoryObjectStore { scheduler.now.components.seconds }
        directory = scratch + "/\(plan.seed)"
        mkdir(directory, 0o700)
        let (directory, objects, remote, server) = (directory, objects, StoreRemote(store, for: "alice"), server)
        machines = try (0..<plan.machineCount).map {
            mkdir("\(directory)/\($0)", 0o700)
            return try SimulatedMachine(
                name: ["laptop", "desk", "tablet", "server"][$0 % 4], store: remote, server: server,
                objects: objects, scheduler: scheduler, scratch: "\(directory)/\($0)")
        }
        if plan.actions.contains(where: { $0.kind == .count }) {
            for machine in machines { try machine.install(hasReceipt: plan.seed % 2 == 0) }
        }
        server.onDeletion = { [unowned self] path, marks in
            guard !marks.isEmpty, marks.isDisjoint(with: words.deleted) else { return }
            violations.append("\(path) (\(marks.sorted())) was told to be deleted, and nobody had deleted it")
        }
        for (index, machine) in machines.enumerated() {
            machine.onDeath = { [unowned self] in
                tell(machine, "dies")
                scheduler.after(.milliseconds(500)) { machine.start() }
            }
            if Runner.tracesCalls {
                machine.logger = Logger(label: "", level: .debug) { [unowned self] record in
                    tell(machine, "  · \(record.message)")
                }
                machine.trace = { [unowned self] operation, path in
                    if operation != "examine" { tell(machine, "  · \(operation) '\(path)'") }
                }
            }
            machine.onRebind = { [unowned self] in
                tell(machine, "is bound to the server as it is")
                words.unite()
            }
            machine.onForgetting = { [unowned self] in words.unretire($0) }
            machine.interfere = { [unowned self] path in interfere(index, at: path) }
        }
    }

    deinit {
        try? FileSystem.removeTree(directory)
    }

    func tell(_ machine: SimulatedMachine, _ what: String) {
        let (seconds, attoseconds) = scheduler.now.components
        let fraction = String(1000 + attoseconds / 1_000_000_000_000_000).dropFirst()
        story.append("\(seconds).\(fraction) \(machine.name) \(what)")
    }

    func break_(_ law: String) { violations.append(law) }

    // MARK: Running

    package func run() {
        for machine in machines { machine.start() }
        for action in plan.actions { scheduler.at(action.time) { [unowned self] in take(action) } }
        scheduler.run(until: (plan.actions.last?.time ?? .zero) + .seconds(1))
        comeToRest()
        if violations.isEmpty { checkLaws() }
        if violations.isEmpty { restartAndCompare() }
        if Runner.tracesCalls, !violations.isEmpty { tellDocuments() }
        for machine in machines { machine.kill() }
        // Give sleeping tasks time to notice that the process is gone.
        scheduler.run(until: scheduler.now + .seconds(200))
    }

    /// Performs an action, unless it was performed early.
    ///
    /// - Parameter path: The file to edit, if the action is an edit.
    private func take(_ action: Action, at path: String? = nil) {
        guard let place = left.firstIndex(where: { $0.seed == action.seed }) else { return }
        left.remove(at: place)
        let machine = machines[action.machine % machines.count]
        guard !machine.hasLeft else { return }
        if action.kind.isUser { userActionCount += 1 }
        checkWaiting()
        perform(action, on: machine, at: path)
        if isShadowed, action.kind.isUser, let copy = try? machine.copy() { copies.append((copy, action.kind)) }
    }

    /// Compares what the planner plans from each copy with what `TaskSync` does there.
    package func shadow() -> ShadowCounts {
        var counts = ShadowCounts()
        for (copy, action) in copies {
            do {
                guard let comparison = try copy.play() else { continue }
                counts.add(ShadowDifferences(comparison), after: action.rawValue, seed: plan.seed)
            } catch {
                counts.add("a copy cannot be played", "\(error)", seed: plan.seed)
            }
        }
        copies = []
        return counts
    }

    /// Checks that changes which wait for a refused change are reported as refused too.
    private func checkWaiting() {
        guard violations.isEmpty else { return }
        for machine in machines {
            let paths = machine.falselyWaiting
            if !paths.isEmpty { violations.append("\(machine.name) tells that \(paths.sorted()) are on their way") }
        }
    }

    /// Lets a user act from time to time in the middle of the bridge's work on the disk.
    private func interfere(_ index: Int, at path: String) {
        if machines[index].nextStep != nil, scheduler.random.chance(2) { return machines[index].takeNextStep() }
        guard scheduler.random.chance(2) else { return }
        guard
            let next = left.first(where: {
                $0.time < scheduler.now + .seconds(5) && $0.machine == index && $0.kind.isFile
            })
        else { return }
        take(next, at: path)
    }

    // MARK: The end

    /// Repairs everything and runs without further actions until nothing is left to do.
    private func comeToRest() {
        checkWaiting()
        story.append("--- everything is mended")
        for machine in present {
            machine.callsToLive = nil
            machine.onPlacing = nil
            machine.lacksRenameFlags = false
            machine.lossRate = 0
            machine.link = .good
            machine.refuses = { _ in nil }
            machine.setStateFull(false)
            machine.disk.setCapacity(.max)
            machine.disk.setRootMissing(false)
            machine.disk.setQueueLimit(16_384)
            machine.disk.setWatchLimit(.max)
            machine.disk.setClockStopped(false)
            for directory in machine.directories { machine.permit(directory) }
        }
        putBlockedListsBack()
        for machine in present {
            shrinkFiles(of: machine)
            for directory in machine.directories { machine.permit(directory) }
            machine.start()
            machine.signIn()
            machine.networkChanged()
        }
        scheduler.run(until: scheduler.now + .seconds(20))
        // A request that was sent into a dead connection may arrive long after it was abandoned.
        for _ in 0..<60 where server.underWay > 0 { scheduler.run(until: scheduler.now + .seconds(1)) }
        for machine in present { shrinkFiles(of: machine) }
        var quiet = 0
        for round in 0..<120 {
            scheduler.run(until: scheduler.now + .seconds(round < 4 ? 3 : 15))
            for machine in present { violations += machine.failures }
            guard violations.isEmpty else { return }
            let reasons = unrest()
            quiet = reasons.isEmpty ? quiet + 1 : 0
            if quiet == 3 { return }
            if round == 119 { violations.append("never comes to rest: \(reasons.joined(separator: "; "))") }
        }
    }

    private func unrest() -> [String] {
        var reasons: [String] = []
        let wasRestored = server.restoreCount > 0
        for machine in present {
            let clients = machine.clients
            let found = ask(machine) { sync, _ -> [String] in
                var reasons: [String] = []
                for client in clients {
                    let status = await client.currentStatus
                    if status.pendingCount > 0 { reasons.append("\(status.pendingCount) pending") }
                    // The writes are no longer refused, so the user retries them.
                    for parked in try await client.pendingMutations(parkedOnly: true) {
                        reasons.append("'\(parked.mutation.name)' parked")
                        try await client.retry(parked.id)
                    }
                    if !status.isCurrent { reasons.append("not current, \(status.connection)") }
                }
                let held = await sync.heldDeletes.map(\.entry.id)
                if !held.isEmpty {
                    reasons.append("\(held.count) held")
                    try await sync.restoreDeletes(held)
                }
                if await sync.isPaused { await sync.setPaused(false) }
                if try await !sync.isSettled() {
                    let transfers = await sync.allTransfers.filter { !$0.phase.isOver }
                    reasons.append("not settled, \(transfers.map { "\($0.name): \($0.phase)" })")
                }
                // Accept names that differ only in case and files without a task, which the users
                // here want, and files that a power cut emptied and that were restored. After a
                // restore of the server, its lost objects cannot be restored, because no task's
                // file is next to them.
                let accepted = ["name-clash", "no-task", "emptied"] + (wasRestored ? ["attachment-damaged"] : [])
                let problems = await sync.allProblems.filter { !accepted.contains($0.code) }
                if !problems.isEmpty {
                    reasons.append("\(problems.map { "\($0.code) \($0.subject ?? ""): \($0.message)" })")
                }
                return reasons
            }
            // Until then only scans, one every half minute, find unwatched changes.
            if !machine.isFullyWatched { reasons.append("\(machine.name): not watched") }
            reasons += (found ?? ["is not there"]).map { "\(machine.name): \($0)" }
            machine.rebindIfHeld()
        }
        return reasons
    }

    /// Returns what `body` returns for a machine; nil and a violation if it does not return.
    func ask<Result: Sendable>(
        _ machine: SimulatedMachine, _ body: @escaping @Sendable (TaskSync, DocumentDatabase) async throws -> Result
    ) -> Result? {
        switch scheduler.run({ try await machine.withSync(body) }) {
        case .success(let result): return result
        case .failure(let error):
            violations.append("\(machine.name) does not answer: \(error)")
            return nil
        }
    }

    // MARK: Laws

    struct State: Equatable {
        var files: [[TaskPath: [UInt8]]]
        var attachments: [[TaskPath: [UInt8]]]
        var documents: [String: Document]
    }

    func state() -> State {
        let queries = ["tasks", "lists", "history", "counters"].map {
            Query(parent: ParentName(Self.database), collectionID: $0, allDescendants: true)
        }
        let store = store
        let result = scheduler.run {
            var documents: [String: Document] = [:]
            for query in queries {
                for try await document in try await store.query(query).documents {
                    documents[document.name.path] = Document(
                        name: document.name, fields: try document.fields.decoded(), createTime: document.createTime,
                        updateTime: document.updateTime)
                }
            }
            return documents
        }
        return State(
            files: present.map { $0.exactFiles(.taskFile) }, attachments: present.map(\.attachments),
            documents: (try? result.get()) ?? [:])
    }

    private func checkLaws() {
        let state = state()
        let present = present
        for (machine, files) in zip(present, state.files).dropFirst() {
            compare(present[0].name, state.files[0], machine.name, files)
        }
        for (machine, files) in zip(present, state.attachments).dropFirst() {
            compare(present[0].name, state.attachments[0], machine.name, files)
        }
        let documents = state.documents.filter { $0.value.name.collectionPath != "counters" }
        for machine in present { compareReplica(of: machine, with: documents) }
        checkCounts(state.documents)
        checkOccurrences(state.documents)
        var seen: [String: Int] = [:]
        var words = Set<String>()
        // The words in the trash, with and without those of attachments.
        var (trashed, trashedText) = (Set<String>(), Set<String>())
        var living = 0
        var attached: [String] = []
        for (path, document) in state.documents.sorted(by: { $0.key < $1.key }) {
            let text = Self.text(of: document)
            if document.fields["deletedTime"] == nil {
                words.formUnion(self.words(of: document))
            } else {
                trashed.formUnion(self.words(of: document))
                trashedText.formUnion(Words.found(in: text, "q"))
            }
            guard document.name.collectionPath == "tasks" else { continue }
            if document.fields["deletedTime"] == nil {
                let named = (document.fields["attachments"]?.mapValue ?? [:]).values.compactMap(\.mapValue)
                let there = named.filter { $0["damaged"] == nil || server.restoreCount == 0 }
                attached += there.compactMap { $0["sha256"]?.stringValue }
            }
            let marks = Words.found(in: text, "b")
            if document.fields["deletedTime"] == nil {
                living += 1
                if let list = document.fields["listId"]?.stringValue, state.documents["lists/\(list)"] == nil {
                    violations.append("\(path) is in a list that is not there")
                }
                for mark in marks { seen[mark, default: 0] += 1 }
                let head = Self.text(of: document, ["tags", "fields"])
                for word in Words.found(in: head, "q").sorted() where self.words.retired[word] != nil {
                    violations.append("\(word) is back in \(path)")
                }
            } else if !marks.isEmpty, marks.isDisjoint(with: self.words.deleted) {
                violations.append("\(path) (\(marks.sorted())) is in the trash, and nobody deleted it")
            }
        }
        for (mark, count) in seen.sorted(by: { $0.key < $1.key }) where count > self.words.births[mark, default: 0] {
            violations.append("the task \(mark) is there \(count) times instead of \(self.words.births[mark] ?? 0)")
        }
        for path in leavesEmptyFiles ? [] : server.robbed.sorted() {
            violations.append("\(path) was shown to others without its birth mark")
        }
        let kept = self.words.written.subtracting(self.words.replaced)
        let unseen = kept.subtracting(words).intersection(trashedText)
        if !unseen.isEmpty { violations.append("thrown away unseen: \(unseen.sorted().joined(separator: " "))") }
        checkPlaces(state)
        for (mark, hash) in self.words.attachedForGood where server.restoreCount == 0 && seen[mark] == 1 {
            if !attached.contains(hash) {
                violations.append("an attachment of \(mark) is not beside it: \(self.words.attached(hash).sorted())")
            }
        }
        let inFiles = machines.map { machine in
            machine.words { !$0.string.hasPrefix(TaskPath.privateDirectory + "/trash/") }
        }
        let known = inFiles.reduce(words.union(trashed)) { $0.union($1) }
        for machine in present {
            let unseen = kept.subtracting(known).intersection(machine.trashedWords)
            if !unseen.isEmpty {
                violations.append("taken away unseen by \(machine.name): \(unseen.sorted().joined(separator: " "))")
            }
        }
        for machine in machines { words.formUnion(machine.words()) }
        let lost = kept.subtracting(words).subtracting(trashed)
        // The unsent words of a machine that has left are lost.
        if !lost.isEmpty, present.count == machines.count {
            violations.append("lost: \(lost.sorted().joined(separator: " "))")
        }
        for (machine, files) in zip(present, state.files) {
            let count = files.count
            if count != living { violations.append("\(machine.name) has \(count) files, the remote \(living) tasks") }
        }
        let stored = (state.attachments.first ?? [:]).values.flatMap { files in
            String(decoding: files, as: UTF8.self).split(separator: "\n").map { String($0.prefix(64)) }
        }
        if stored.sorted() != attached.sorted() {
            violations.append("the attachments' files are not those of the tasks: \(stored.count), \(attached.count)")
        }
    }

    /// Checks that a task is in the list where users put it, unless a directory's name was changed.
    private func checkPlaces(_ state: State) {
        let changed = Set(words.changedDirectories.map(Self.unnumbered))
        for (path, bytes) in (state.files.first ?? [:]).sorted(by: { $0.key < $1.key }) {
            let directory = Words.directory(of: path.string)
            let marks = Words.found(in: bytes, "b")
            // Two tasks in one file, or none, violate other laws.
            guard let mark = marks.first, marks.count == 1 else { continue }
            let paths = words.places(of: mark)
            guard !paths.isEmpty, paths.isDisjoint(with: words.commanded) else { continue }
            let wanted = Set(paths.map(Words.directory))
            // The parent directories count too, because they may have been renamed while they were
            // empty.
            let isRenamed = wanted.contains { directory in
                sequence(first: directory) { $0.isEmpty ? nil : Words.directory(of: $0) }
                    .contains { changed.contains(Self.unnumbered($0)) }
            }
            // Which of two lists with one name gets a number is arbitrary.
            if !wanted.contains(where: { Self.unnumbered($0) == Self.unnumbered(directory) }),
                directory.isEmpty || !isRenamed
            {
                violations.append("\(path) (\(mark)) is not where users put it: \(wanted.sorted())")
            }
        }
    }

    private static func unnumbered(_ directory: String) -> String {
        directory.hasSuffix(")") ? directory.replacing(#/ \([0-9]+\)$/#, with: "") : directory
    }

    /// Checks that a machine's replica equals the remote.
    private func compareReplica(of machine: SimulatedMachine, with documents: [String: Document]) {
        let replica = ask(machine) { _, client in
            var documents: [String: Document] = [:]
            for query in TaskSync.queries(of: UserID("alice"), in: Simulation.database) {
                for view in try await client.documents(query) { documents[view.name.path] = view.document }
            }
            return documents
        }
        guard let replica else { return }
        for path in Set(replica.keys).union(documents.keys).sorted() where replica[path] != documents[path] {
            let what = replica[path] == nil ? "lacks" : documents[path] == nil ? "still has" : "has an older"
            violations.append("\(machine.name)'s replica \(what) \(path)")
        }
    }

    /// Adds the remote's final documents to the story.
    private func tellDocuments() {
        for (path, document) in state().documents.sorted(by: { $0.key < $1.key }) {
            story.append("    \(path):")
            for (field, value) in document.fields.sorted(by: { $0.key < $1.key }) {
                story.append("        \(field): \(value)")
            }
        }
    }

    private func compare<Path: Comparable & Hashable>(
        _ a: String, _ left: [Path: [UInt8]], _ b: String, _ right: [Path: [UInt8]]
    ) {
        for path in Set(left.keys).union(right.keys).sorted() where left[path] != right[path] {
            func show(_ bytes: [UInt8]?) -> String {
                bytes.map(Words.short) ?? "nothing"
            }
            violations.append("\(path): \(a) has \(show(left[path])), \(b) has \(show(right[path]))")
        }
    }

    /// Returns the words of a document and of the attachments that it names.
    func words(of document: Document) -> Set<String> {
        var found = Words.found(in: Self.text(of: document), "q")
        let values = [document.fields["attachments"], document.fields["value"]].compactMap(\.self)
        for text in values.flatMap(Self.texts) { found.formUnion(words.attached(text)) }
        return found
    }

    private static func texts(in value: Value) -> [String] {
        switch value {
        case .string(let text): [text]
        case .map(let map): map.values.flatMap(texts)
        case .array(let array): array.flatMap(texts)
        default: []
        }
    }

    /// Returns the parts of a document that a user can see, without the layout of its file and its
    /// origins.
    static func text(
        of document: Document,
        _ told: [String] = ["title", "notes", "tags", "fields", "fileName", "name", "value"]
    ) -> [UInt8] {
        func text(_ value: Value) -> String {
            switch value {
            case .string(let text): text
            case .map(let map): map.map { "\($0.key) \(text($0.value))" }.sorted().joined(separator: "\n")
            case .array(let array): array.map(text).joined(separator: "\n")
            default: ""
            }
        }
        return Array(told.compactMap { document.fields[$0].map(text) }.joined(separator: "\n").utf8)
    }

    private func restartAndCompare() {
        let before = state()
        story.append("--- every process is started again")
        for machine in present { machine.kill() }
        scheduler.run(until: scheduler.now + .seconds(1))
        comeToRest()
        let after = state()
        for (index, machine) in present.enumerated() {
            compare("\(machine.name) before a restart", before.files[index], "after", after.files[index])
            compare("\(machine.name) before a restart", before.attachments[index], "after", after.attachments[index])
        }
        for path in Set(before.documents.keys).union(after.documents.keys).sorted()
        where before.documents[path] != after.documents[path] {
            let (old, new) = (before.documents[path]?.fields ?? [:], after.documents[path]?.fields ?? [:])
            let fields = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
            violations.append("a restart changed \(fields.joined(separator: ", ")) of \(path)")
        }
    }
}
