import DocumentModel
import SQLite
import SystemIO

extension DocumentDatabase {
    /// Keeps the copy in step with the remote until the task is cancelled. Nothing that the network
    /// does ends it; it throws only when the state file fails.
    public func run() async throws {
        try checkOpen()
        guard !isRunning else { throw DocumentClientError(.invalid, "The document client runs already.") }
        isRunning = true
        defer {
            isRunning = false
            stream?.close()
            stream = nil
            hasMetRemote = false
            _ = session.ended(.transient)
            watched.forgetCurrent()
            if case .otherRemote = status.connection {} else { status.connection = .stopped }
            updateStatus()
        }
        if case .stopped = status.connection { status.connection = .connecting }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.send() }
            group.addTask { try await self.listen() }
            group.addTask { await self.reconnectAfterSilence() }
            try await group.next()
            group.cancelAll()
        }
    }

    var isBlocked: Bool {
        if case .otherRemote = status.connection { return true }
        return needsSignIn
    }

    // MARK: Sending

    private func send() async throws {
        while !Task.isCancelled {
            do {
                try await sendOnce()
                noteStorage(nil)
            } catch let error as SQLiteError where error.code == .full || error.code == .busy {
                // Nothing is lost: an outcome that could not be recorded is determined again.
                noteStorage(error)
                await pause(Self.storageDelay)
            }
        }
    }

    private func sendOnce() async throws {
        // A remote that was restored to an earlier state is recognized by its stream, so nothing is
        // sent before the stream has responded.
        guard !isBlocked, hasMetRemote || !session.isWanted, let request = try replica.nextRequest() else {
            return await sendWakeup.wait()
        }
        let verdict = try await perform(request)
        published()
        switch verdict {
        case .goOn(wait: false), .park: break
        case .goOn(wait: true):
            // Boundaries may be waiting for the outcome of the commit, so the next attempt must
            // follow.
            await pause(sendDelay.next(random: environment.fraction))
        case .signIn: requireSignIn()
        }
    }

    private static let storageDelay = Duration.seconds(5)

    private func noteStorage(_ error: SQLiteError?) {
        guard status.storageProblem != error?.message else { return }
        status.storageProblem = error?.message
        updateStatus()
    }

    private func perform(_ request: Replica.Request) async throws -> Journal.Verdict {
        do {
            switch request {
            case .commit(let writes): try replica.committed(try await remote.commit(writes))
            case .read(let names): try replica.read(try await remote.documents(names))
            }
            sendDelay.reset()
            heardFromRemote()
            try await handle(try replica.applyHeld())
            return .goOn(wait: false)
        } catch let error as RemoteError {
            if error.code.isOffline { wentOffline(error) } else { heardFromRemote() }
            let verdict = try replica.failed(error)
            try await handle(try replica.applyHeld())
            return verdict
        } catch is CancellationError {
            return try replica.failed(RemoteError(.transient, "The client is stopping."))
        }
    }

    /// Waits for a duration, or until `networkChanged` is called.
    private func pause(_ duration: Duration) async {
        let deadline = environment.now() + duration
        isHurried = false
        while !Task.isCancelled, !isHurried {
            let left = deadline - environment.now()
            guard left > .zero, await sendWakeup.wait(atMost: left, in: environment) else { return }
        }
    }

    // MARK: Listening

    private func listen() async throws {
        while !Task.isCancelled {
            guard !isBlocked, session.isWanted else {
                await listenWakeup.wait()
                continue
            }
            var code = RemoteError.Code.transient
            do {
                code = try await followStream()
            } catch let error as SQLiteError where error.code == .full || error.code == .busy {
                noteStorage(error)
                await pauseListening(Self.storageDelay)
            }
            if session.isHealthy { listenDelay.reset() }
            stream?.close()
            stream = nil
            hasMetRemote = false
            watched.forgetRefusals()
            try await perform(session.ended(code))
        }
    }

    private func pauseListening(_ duration: Duration) async {
        _ = await listenWakeup.wait(atMost: duration, in: environment)
    }

    /// Follows one stream from its opening to its end. Returns the code with which it ended.
    private func followStream() async throws -> RemoteError.Code {
        do {
            for case .open(let targets) in session.open() {
                lastHeard = environment.now()
                unsent = []
                stream = try await remote.listen(targets, seen: try replica.newestCommit())
                try await perform(unsent)
            }
            guard let stream else { return .transient }
            while let events = try await stream.nextEvents() {
                lastHeard = environment.now()
                if case .lineage(let lineage)? = events.first, try replica.isOther(lineage: lineage) {
                    hold("The server was restored to an earlier state, perhaps from a backup.")
                    return .transient
                }
                heardFromRemote()
                if !hasMetRemote {
                    hasMetRemote = true
                    sendWakeup.set()
                }
                for event in events { try await perform(session.received(event)) }
                published()
                if isBlocked { return .transient }
            }
            return .transient
        } catch let error as RemoteError {
            if error.code != .unauthenticated, error.code != .contention { wentOffline(error) }
            return error.code
        } catch is CancellationError {
            return .transient
        }
    }

    func perform(_ actions: [ListenSession.Action]) async throws {
        for action in actions {
            switch action {
            case .open: break
            case .add, .remove: await tell(action)
            case .close: stream?.close()
            case .apply(let boundary): try await handle(try replica.receive(boundary))
            case .refused(let target, let error): noteRefused(target, error)
            case .currentTargets(let targets): noteCurrent(targets)
            case .wait(let overloaded):
                let wait = listenDelay.next(random: environment.fraction, isOverloaded: overloaded)
                _ = await listenWakeup.wait(atMost: wait, in: environment)
            case .signIn: requireSignIn()
            }
        }
    }

    private func tell(_ action: ListenSession.Action) async {
        guard let stream else { return unsent.append(action) }
        switch action {
        case .add(let target): await stream.add(target)
        case .remove(let target): await stream.remove(target)
        default: break
        }
    }

    /// Performs the follow-up work of applying boundaries.
    func handle(_ outcome: Replica.ListenOutcome) async throws {
        if outcome.wentBack {
            return hold("The server has an earlier state than before; perhaps it was restored from a backup.")
        }
        if !outcome.mismatched.isEmpty {
            try replica.forgetTokens(of: outcome.mismatched)
            try await perform(session.restart(outcome.mismatched))
        }
        if !outcome.missing.isEmpty {
            missing.add(outcome.missing)
            try await resolveMissing()
        }
        if !outcome.unreported.isEmpty { try await resolveUnreported(outcome.unreported) }
        if !status.isCurrent { updateStatus() }
    }

    /// Stops sending and applying.
    private func hold(_ reason: String) {
        status.connection = .otherRemote(reason)
        updateStatus()
        stream?.close()
    }

    /// Reads documents that a target lost without a reason: only the remote can say whether they
    /// were deleted.
    private func resolveMissing() async throws {
        while let question = missing.next() {
            for action in missing.answered(question, try await remote.read(question)) {
                try await handle(try replica.resolveMissing(action.names, action.answer))
            }
        }
    }

    /// Reads documents that no target has reported. If there is no response now, they are requested
    /// again with a later boundary.
    private func resolveUnreported(_ names: [DocumentName]) async throws {
        for start in stride(from: 0, to: names.count, by: 300) {
            let names = Array(names[start..<min(start + 300, names.count)])
            let outcome = try await remote.read(names)
            if case .later = outcome { return }
            try await handle(try replica.resolveUnreported(names, outcome.answer))
        }
    }

    private func reconnectAfterSilence() async {
        while !Task.isCancelled {
            let left = lastHeard + options.silence - environment.now()
            if left > .zero {
                try? await environment.sleep(for: left)
            } else {
                // The reader sees the end of the stream and resumes from the last boundary.
                stream?.close()
                lastHeard = environment.now()
            }
        }
    }

    // MARK: Notifications from outside

    /// Reports that the network has returned or changed, or that the machine woke up. The client
    /// retries immediately and replaces its stream, which may be dead.
    public func networkChanged() {
        remote.networkChanged()
        isHurried = true
        sendDelay.reset()
        listenDelay.reset()
        sendWakeup.set()
        listenWakeup.set()
        stream?.close()
    }

    /// Reports that the user has signed in (again).
    public func signedIn() {
        needsSignIn = false
        if status.connection == .needsSignIn { status.connection = .connecting }
        updateStatus()
        networkChanged()
    }

    /// Continues with the remote in its present state. All documents of this replica are offered to
    /// the remote and merged with its documents; nothing is deleted on either side.
    public func adoptRemote() throws {
        try checkOpen()
        try replica.adoptRemote(options.remoteIdentity)
        session.forgetTokens()
        missing = MissingDocuments()
        status.connection = isRunning ? .connecting : .stopped
        published()
        networkChanged()
    }
}
