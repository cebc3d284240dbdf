import CivilTime
import Control
import DocumentModel
import Glibc
import SystemIO
import SystemService
import TaskModel
import TaskSync

/// A service that shows the reminders of tasks on the desktop, as `ReminderPlanner` decides.
///
/// It wakes only for a reminder, for a change of the tasks, and for an event of the desktop, the
/// clock or the time zone.
actor ReminderService: Service {
    private let engine: SyncEngine
    private let account: Account
    private let tasksDirectory: String
    private let isEnabled: Bool
    private let statePath: String
    private let logger: Logger
    private let wake: AsyncSignal
    private let desktop: DesktopNotices
    private let presence: SessionPresence
    private let zones = TimeZones()

    private var state: ReminderState
    private var saved: [UInt8] = []
    private var tasks: [TaskID: TaskReminders] = [:]
    private var version: (stack: ObjectIdentifier, number: UInt64)?
    private var timer: WallTimer?
    /// The number of reminders for which a desktop was requested.
    private var waitingCount = 0

    /// The minimum time between two looks at the tasks.
    private static let pace = Duration.milliseconds(100)
    private static let stateLimit = 16 << 20

    init(
        configuration: DaemonConfiguration, state directory: StateDirectory, engine: SyncEngine, account: Account,
        hub: EventHub, logger: Logger
    ) {
        self.engine = engine
        self.account = account
        self.logger = logger
        tasksDirectory = configuration.tasks
        isEnabled = configuration.showsReminders
        statePath = directory.reminders
        let signal = hub.subscribe()
        wake = signal
        desktop = DesktopNotices(logger: logger, onEvent: { signal.set() })
        presence = SessionPresence(logger: logger, onChange: { signal.set() })
        let bytes = (try? FileSystem.readIfPresent(directory.reminders, limit: Self.stateLimit)) ?? nil
        state = bytes.flatMap(ReminderState.init) ?? ReminderState(since: Clocks.wallSeconds())
    }

    func run() async throws {
        guard isEnabled else { return await GracefulStop.wait() }
        let working = Task { await work() }
        await withTaskCancellationHandler {
            await GracefulStop.wait()
        } onCancel: {
            working.cancel()
        }
        working.cancel()
        await working.value
    }

    private func work() async {
        let timer: WallTimer
        do { timer = try WallTimer() } catch {
            return logger.error("reminders are not shown", ["reason": "\(error)"])
        }
        self.timer = timer
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [desktop] in await desktop.run() }
            group.addTask { [presence] in await presence.run() }
            group.addTask { [wake] in while (try? await timer.wait()) != nil { wake.set() } }
            group.addTask { [wake] in await Self.watchTimeZone { wake.set() } }
            group.addTask { await self.takeTurns() }
            await group.waitForAll()
        }
        // A notice that was shown a moment ago has a number that the next run needs.
        for event in await desktop.takeEvents() {
            if case .shown = event { await take(event) }
        }
        save()
    }

    private func takeTurns() async {
        while !Task.isCancelled {
            await turn()
            try? await Task.sleep(for: Self.pace)
            await wake.wait()
        }
    }

    /// Calls a function when the time zone of the machine has changed: /etc/localtime is replaced.
    private static func watchTimeZone(_ onChange: @Sendable () -> Void) async {
        guard let inotify = try? Inotify(), let directory = try? Directory(path: "/etc"),
            (try? inotify.watch(directory, for: [.created, .movedTo])) != nil
        else { return }
        while !Task.isCancelled, (try? await inotify.wait()) != nil {
            guard let events = try? inotify.read() else { return }
            guard events.contains(where: { $0.name == "localtime" }) else { continue }
            tzset()
            onChange()
        }
    }

    // MARK: One turn

    private func turn() async {
        for event in await desktop.takeEvents() { await take(event) }
        guard let stack = await engine.stack else { return }
        await readTasks(of: stack)
        await keepSnoozes(in: stack)
        let capabilities = await desktop.capabilities
        let situation = await situation(canShow: capabilities != nil)
        let plan = state.planner.plan(tasks, in: situation)
        for notice in plan.close {
            if let number = state.numbers.removeValue(forKey: notice.id) { await desktop.close(number) }
        }
        let words = ReminderWords(sync: stack.sync, tasks: tasks)
        for notice in plan.show {
            logger.info("a reminder is due", ["tasks": notice.keys.map(\.task.rawValue).joined(separator: " ")])
            await desktop.show(notice.id, words.text(of: notice, capabilities: capabilities ?? []))
        }
        if plan.waitingCount > waitingCount { await desktop.request() }
        waitingCount = plan.waitingCount
        do { try timer?.set(plan.wakeAt) } catch {
            logger.error("the next reminder may be late", ["reason": "\(error)"])
        }
        save()
    }

    private func readTasks(of stack: SyncStack) async {
        let known = version.flatMap { $0.stack == ObjectIdentifier(stack) ? $0.number : nil }
        guard let (number, tasks) = await stack.sync.reminders(after: known) else { return }
        version = (ObjectIdentifier(stack), number)
        self.tasks = tasks
    }

    /// Notes the snoozes of a machine without an account, and gives them to the documents that the
    /// first sign-in has made of its files.
    private func keepSnoozes(in stack: SyncStack) async {
        let now = Clocks.wallSeconds()
        if stack.isAlone {
            var snoozes: [String: Int64] = [:]
            for (task, reminders) in tasks {
                guard let until = reminders.snoozes[UserID.alone.rawValue], until > now else { continue }
                if let path = await stack.sync.path(ofTask: task) { snoozes[path] = until }
            }
            state.earlySnoozes = snoozes
            return
        }
        let user = await account.user
        guard !state.earlySnoozes.isEmpty, user != .alone else { return }
        for (path, until) in state.earlySnoozes {
            if until > now {
                guard let task = await stack.sync.task(atPath: path) else { continue }
                do {
                    var edit = TaskEdit()
                    edit.snooze = .init(user: user, until: Timestamp(seconds: until, nanos: 0))
                    try await stack.sync.edit(task, edit)
                } catch {
                    logger.warning("a snooze was lost at the sign-in", ["task": task.rawValue, "error": "\(error)"])
                }
            }
            state.earlySnoozes[path] = nil
        }
    }

    private func situation(canShow: Bool) async -> ReminderPlanner.Situation {
        let zone = ZoneOffsets { Int64(LocalTime(seconds: $0)?.offset ?? 0) }
        return ReminderPlanner.Situation(
            now: Clocks.wallSeconds(), zone: zone, zones: { [zones] in zones[$0] }, user: await account.user,
            canShow: canShow, isIdle: await presence.isAway)
    }

    private func take(_ event: DesktopNotices.Event) async {
        switch event {
        case .ready(let server):
            if server != state.server {
                for notice in state.planner.open { state.planner.forget(notice.id) }
                state.numbers = [:]
            }
            state.server = server
        case .gone: break
        case .shown(let notice, let number):
            // It may have been settled elsewhere before the server answered.
            guard state.planner.open.contains(where: { $0.id == notice }) else { return await desktop.close(number) }
            state.numbers[notice] = number
        case .refused(let notice): state.planner.takeBack(notice)
        case .action(let number, let key): await perform(key, on: number)
        case .closed(let number):
            guard let notice = notice(number) else { return }
            state.planner.forget(notice.id)
            state.numbers[notice.id] = nil
        }
    }

    private func notice(_ number: UInt32) -> ReminderNotice? {
        guard let id = state.numbers.first(where: { $0.value == number })?.key else { return nil }
        return state.planner.open.first { $0.id == id }
    }

    private func perform(_ key: String, on number: UInt32) async {
        guard let action = ReminderAction(key: key), let notice = notice(number), let stack = await engine.stack else {
            return
        }
        // The directory, instead of a window for each of the tasks.
        if action == .open, notice.keys.count > 1 { return await desktop.open(tasksDirectory) }
        await readTasks(of: stack)
        let situation = await situation(canShow: true)
        for key in notice.keys where state.planner.isCurrent(key, in: tasks, situation) {
            do {
                let file = try await action.perform(on: key.task, stack.sync, in: situation)
                if let file { await desktop.open("\(tasksDirectory)/\(file)") }
            } catch {
                logger.warning("an action on a reminder failed", ["task": key.task.rawValue, "error": "\(error)"])
            }
        }
    }

    private func save() {
        let bytes = state.bytes
        guard bytes != saved else { return }
        do {
            try FileSystem.replace(statePath, with: bytes, mode: 0o600)
            saved = bytes
        } catch {
            logger.warning("a restart may show reminders again", ["reason": "\(error)"])
        }
    }

    // MARK: Listing

    /// Returns the reminders that are due or come next, in order of time.
    func listing(limit: Int) async throws -> ReminderListing {
        let stack = await engine.stack
        if let stack { await readTasks(of: stack) }
        let canShow = await desktop.capabilities != nil
        let situation = await situation(canShow: canShow)
        var reminders = state.planner.reminders(of: tasks, in: situation)
            .sorted { ($0.instant, $0.key) < ($1.instant, $1.key) }
        let due = reminders.prefix { $0.instant <= situation.now }.suffix(limit)
        reminders = Array(due) + reminders.drop { $0.instant <= situation.now }.prefix(limit)
        let words = ReminderWords(sync: stack?.sync, tasks: tasks)
        return ReminderListing(
            isEnabled: isEnabled, hasDesktop: canShow,
            reminders: await words.summaries(of: reminders, at: situation.now))
    }
}
