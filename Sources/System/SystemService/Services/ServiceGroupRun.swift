import SystemIO

/// One run of a group. Everything that happens arrives as an event, one at a time.
struct ServiceGroupRun: Sendable {
    private enum Event: Sendable {
        case ended(Int, (any Error)?)
        case signal(Signal)
        case cancelled
        case limit(Int, isCancelled: Bool)
    }

    /// The state of a member while the group runs.
    private struct MemberState: Sendable {
        var stop = GracefulStop()
        var cancel: AsyncStream<Never>.Continuation
        var hasEnded = false
    }

    private let group: ServiceGroup
    private let events: AsyncStream<Event>
    private let post: AsyncStream<Event>.Continuation
    private var running: [MemberState] = []
    private var timers: [Task<Void, any Error>] = []
    private var isStopping = false
    private var failure: ServiceGroupError?

    init(_ group: ServiceGroup) {
        self.group = group
        (events, post) = AsyncStream<Event>.makeStream()
    }

    mutating func run(signals: SignalEvents?) async throws {
        var cancels: [AsyncStream<Never>] = []
        for _ in group.members {
            let (stream, end) = AsyncStream<Never>.makeStream()
            running.append(MemberState(cancel: end))
            cancels.append(stream)
        }
        // The services must outlive the cancellation of this task by their stop limit. Therefore
        // they, and the handling of events that stops them one by one, run in detached tasks. All
        // of these have ended when this function returns.
        let (group, post, stops) = (group, post, running.map(\.stop))
        let services = Task.detached {
            await withTaskGroup { tasks in
                for (index, member) in group.members.enumerated() {
                    let (stop, cancel) = (stops[index], cancels[index])
                    tasks.addTask {
                        let failure = await ServiceGroupRun.run(member.service, stop: stop, until: cancel)
                        post.yield(.ended(index, failure))
                    }
                }
            }
        }
        let listening = Task.detached {
            guard let signals else { return }
            for try await signal in signals { post.yield(.signal(signal)) }
        }
        let start = self
        let handling = Task.detached {
            var run = start
            await run.handleEvents()
            return run
        }
        self = await withTaskCancellationHandler {
            await handling.value
        } onCancel: {
            post.yield(.cancelled)
        }
        listening.cancel()
        for timer in timers { timer.cancel() }
        await services.value
        _ = await listening.result
        if let failure { throw failure }
    }

    private static func run(
        _ service: any Service, stop: GracefulStop, until cancel: AsyncStream<Never>
    ) async -> (any Error)? {
        await withTaskGroup(of: Optional<Result<Void, any Error>>.self) { tasks in
            tasks.addTask {
                await GracefulStop.$current.withValue(stop) {
                    do {
                        return .success(try await service.run())
                    } catch {
                        return .failure(error)
                    }
                }
            }
            tasks.addTask {
                for await _ in cancel {}
                return nil
            }
            var failure: (any Error)?
            for await result in tasks {
                if case .failure(let error)? = result { failure = error }
                tasks.cancelAll()
            }
            return failure
        }
    }

    private mutating func handleEvents() async {
        if group.members.isEmpty { return }
        for await event in events {
            switch event {
            case .ended(let index, let error): ended(index, error)
            case .signal(let signal): await handle(signal)
            case .cancelled: stopNext()
            case .limit(let index, let isCancelled): limit(index, isCancelled: isCancelled)
            }
            if running.allSatisfy(\.hasEnded) { return }
        }
    }

    private mutating func ended(_ index: Int, _ error: (any Error)?) {
        running[index].hasEnded = true
        let member = group.members[index]
        if !isStopping, error != nil || !member.mayFinish {
            failure = ServiceGroupError(service: member.name, cause: error)
            group.logger.error("a service ended, stopping the others", ["service": member.name])
        } else if let error, !(error is CancellationError) {
            group.logger.warning("a service failed while it stopped", ["service": member.name, "error": "\(error)"])
        }
        if isStopping || failure != nil { stopNext() }
    }

    private mutating func handle(_ signal: Signal) async {
        switch signal {
        case .hangup:
            group.supervisor.reloading()
            do {
                try await group.onReload()
            } catch {
                group.logger.error("the reload failed, going on as before", ["error": "\(error)"])
            }
            group.supervisor.ready()
        case .terminate, .interrupt:
            guard isStopping else {
                group.logger.info("stopping", ["signal": "\(signal)"])
                return stopNext()
            }
            group.logger.notice("received a second signal, stopping at once", ["signal": "\(signal)"])
            for member in running { member.cancel.finish() }
        default: break
        }
    }

    /// Asks the last member that is still running to stop. The members before it follow when it has
    /// ended.
    private mutating func stopNext() {
        if !isStopping { group.supervisor.stopping() }
        isStopping = true
        guard let index = running.lastIndex(where: { !$0.hasEnded }) else { return }
        if running[index].stop.wasRequested { return }
        running[index].stop.request()
        let limit = group.members[index].stopLimit
        if limit > .zero {
            wait(limit, then: .limit(index, isCancelled: false))
        } else {
            self.limit(index, isCancelled: false)
        }
    }

    private mutating func limit(_ index: Int, isCancelled: Bool) {
        guard !running[index].hasEnded else { return }
        let name = group.members[index].name
        let details: KeyValuePairs = ["service": name, "waits-for": group.members[index].waitsFor() ?? "unknown"]
        if isCancelled {
            group.logger.critical("a service does not end", details)
            group.onStuck(name)
        } else {
            if group.members[index].stopLimit > .zero {
                group.logger.warning("a service takes too long to stop, cancelling it", details)
            }
            running[index].cancel.finish()
            wait(group.cancelLimit, then: .limit(index, isCancelled: true))
        }
    }

    private mutating func wait(_ time: Duration, then event: Event) {
        let post = post
        timers.append(
            Task.detached {
                try await Task.sleep(for: time)
                post.yield(event)
            })
    }
}
