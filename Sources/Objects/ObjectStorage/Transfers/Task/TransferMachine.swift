/// The states of one transfer and their transitions. Pure: each event gives one action.
///
///     ready ──launch──▶ running ──ended──▶ finished
///       ▲                 │ pause, hold, cancel
///       │                 ▼
///     paused ◀─ended── stopping ──ended──▶ cleaning ──cleaned──▶ finished
struct TransferMachine: Sendable {
    enum Phase: Hashable, Sendable {
        case ready
        case running
        /// The work is being interrupted. The goal tells which state follows.
        case stopping(Goal)
        case paused
        /// The transfer was cancelled, and what it has stored is being removed.
        case cleaning
        case finished(TransferState)
    }

    /// The state after an interruption.
    enum Goal: Hashable, Sendable { case ready, paused, running, cancelled }

    enum Event: Sendable {
        case launch
        case pause
        /// Return to `ready` for a later launch, because the process is about to exit or other
        /// transfers run first.
        case hold
        case resume
        case cancel
        case ended(Ending)
        case cleaned
        /// The owner has decided that a failed transfer is not attempted again.
        case giveUp
    }

    /// The end of the work.
    enum Ending: Sendable { case succeeded, failed, interrupted }

    /// An instruction to the engine.
    enum Action: Hashable, Sendable {
        case none
        /// Start the work.
        case start
        /// Cancel the task that does the work.
        case interrupt
        /// Remove what was stored, then send `cleaned`.
        case clean
        /// Publish the outcome.
        case finish(TransferState)
        /// Report the failure. The owner decides whether the transfer is attempted again.
        case reportFailure
    }

    private(set) var phase = Phase.ready

    init() {}

    /// Creates a machine for a transfer that ended before this process started.
    init(finished state: TransferState) { phase = .finished(state) }

    /// Enters the next state and returns the action to perform.
    mutating func handle(_ event: Event) -> Action {
        switch (phase, event) {
        case (.ready, .launch), (.paused, .launch), (.paused, .resume):
            return enter(.running, .start)
        case (.ready, .pause):
            return enter(.paused, .none)
        case (.paused, .hold):
            return enter(.ready, .none)
        case (.ready, .cancel), (.paused, .cancel):
            return enter(.cleaning, .clean)
        case (.ready, .giveUp):
            return enter(.finished(.failed), .finish(.failed))
        case (.running, .pause):
            return enter(.stopping(.paused), .interrupt)
        case (.running, .hold):
            return enter(.stopping(.ready), .interrupt)
        case (.running, .cancel):
            return enter(.stopping(.cancelled), .interrupt)
        case (.stopping, .cancel):
            return enter(.stopping(.cancelled), .none)
        case (.stopping(let goal), .pause) where goal != .cancelled:
            return enter(.stopping(.paused), .none)
        case (.stopping(let goal), .hold) where goal != .cancelled:
            return enter(.stopping(.ready), .none)
        case (.stopping(let goal), .resume) where goal != .cancelled,
            (.stopping(let goal), .launch) where goal != .cancelled:
            return enter(.stopping(.running), .none)
        case (.running, .ended(let ending)):
            return ended(ending)
        case (.stopping(let goal), .ended(let ending)):
            return stopped(goal, ending)
        case (.cleaning, .cleaned):
            return enter(.finished(.cancelled), .finish(.cancelled))
        default:
            return .none
        }
    }

    private mutating func ended(_ ending: Ending) -> Action {
        switch ending {
        case .succeeded: enter(.finished(.done), .finish(.done))
        case .failed: enter(.ready, .reportFailure)
        case .interrupted: enter(.ready, .none)
        }
    }

    private mutating func stopped(_ goal: Goal, _ ending: Ending) -> Action {
        // The work ended before the interruption reached it.
        if ending == .succeeded { return enter(.finished(.done), .finish(.done)) }
        return switch goal {
        case .ready: enter(.ready, .none)
        case .paused: enter(.paused, .none)
        case .running: enter(.running, .start)
        case .cancelled: enter(.cleaning, .clean)
        }
    }

    private mutating func enter(_ phase: Phase, _ action: Action) -> Action {
        self.phase = phase
        return action
    }
}
