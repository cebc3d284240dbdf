import Glibc
import MessageBus
import SystemIO
import SystemService

/// The notices on the desktop of this machine, through org.freedesktop.Notifications on the bus of
/// the user's session.
///
/// Without a bus it waits for the bus's socket, and without a notification server for its name,
/// which cost nothing meanwhile.
actor DesktopNotices {
    /// An event of a notice or of the notification server.
    enum Event: Sendable, Hashable {
        /// The server can show notices. If it is another one than before, its notices are gone.
        case ready(server: String)
        /// There is no server any more.
        case gone
        /// The server has shown a notice under a number of its own.
        case shown(notice: Int, number: UInt32)
        /// The server has not shown a notice.
        case refused(notice: Int)
        /// The user has chosen an action of a notice.
        case action(number: UInt32, key: String)
        /// The notice is no longer on the desktop.
        case closed(number: UInt32)
    }

    private enum Call: Sendable {
        case server
        case capabilities(server: String)
        case notify(Int)
        case other(String)
    }

    private let logger: Logger
    private let onEvent: @Sendable () -> Void
    private let retry = AsyncSignal()
    private var connection: BusConnection?
    private var calls: [UInt64: Call] = [:]
    private var events: [Event] = []
    private var openCount = 0
    /// The capabilities of the server; nil if there is none.
    private(set) var capabilities: Set<String>?
    /// Whether the server has refused a notice since the last request for it.
    private var hasRefused = false

    private static let service = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let bus = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"

    /// - Parameter onEvent: Called when `takeEvents` has something to return. It must be quick.
    init(logger: Logger, onEvent: @escaping @Sendable () -> Void) {
        self.logger = logger
        self.onEvent = onEvent
    }

    /// Returns the events since the last call.
    func takeEvents() -> [Event] {
        defer { events = [] }
        return events
    }

    /// Keeps the connection to the bus until cancelled.
    func run() async {
        let watch = Task { [retry] in await Self.watchSocket(retry) }
        defer { watch.cancel() }
        var backoff = Backoff(.seconds(1) ... .seconds(64), spread: 1...1)
        while !Task.isCancelled {
            do {
                let connection = try BusConnection(.session)
                try subscribe(connection)
                backoff.reset()
                while true {
                    while let message = try connection.receive() { take(message) }
                    try await connection.wait()
                }
            } catch {
                let wasConnected = lose()
                if wasConnected { logger.info("the session bus has ended", ["reason": "\(error)"]) }
                if Task.isCancelled { return }
                // A bus that has just ended may be replaced at once, of which the watch tells.
                if wasConnected { try? await Task.sleep(for: backoff.next(random: 0)) } else { await retry.wait() }
            }
        }
    }

    // MARK: The bus

    /// Signals when a socket may have appeared at the address of the bus.
    private static func watchSocket(_ retry: AsyncSignal) async {
        guard let socket = socketPath, let inotify = try? Inotify() else { return }
        let parts = FileSystem.split(socket)
        guard let directory = try? Directory(path: parts.parent),
            (try? inotify.watch(directory, for: [.created, .movedTo, .attributes])) != nil
        else { return }
        retry.set()
        while !Task.isCancelled, (try? await inotify.wait()) != nil {
            guard let events = try? inotify.read() else { return }
            if events.contains(where: { $0.name == parts.name }) { retry.set() }
        }
    }

    /// The path of the bus's socket; nil if its address has none.
    private static var socketPath: String? {
        let address = ProcessEnvironment["DBUS_SESSION_BUS_ADDRESS"]
        guard let address else { return ProcessEnvironment["XDG_RUNTIME_DIR"].map { "\($0)/bus" } }
        let prefix = "unix:path="
        guard address.hasPrefix(prefix) else { return nil }
        return String(address.dropFirst(prefix.count).prefix { $0 != "," && $0 != ";" })
    }

    private func subscribe(_ connection: BusConnection) throws {
        self.connection = connection
        for rule in [
            "type='signal',sender='\(Self.service)',interface='\(Self.service)'",
            "type='signal',sender='\(Self.bus)',member='NameOwnerChanged',arg0='\(Self.service)'",
        ] {
            calls[try connection.call(Self.bus, Self.busPath, Self.bus, "AddMatch", [.string(rule)])] = .other("watch")
        }
        calls[
            try connection.call(Self.bus, Self.busPath, Self.bus, "GetNameOwner", [.string(Self.service)])] = .server
    }

    /// Notes the end of the connection. Returns whether there was one.
    private func lose() -> Bool {
        let wasConnected = connection != nil
        connection = nil
        for case .notify(let notice) in calls.values { note(.refused(notice: notice)) }
        calls = [:]
        loseServer()
        return wasConnected
    }

    private func loseServer() {
        guard capabilities != nil else { return }
        capabilities = nil
        note(.gone)
    }

    private func note(_ event: Event) {
        events.append(event)
        onEvent()
    }

    private func take(_ message: BusMessage) {
        switch message.kind {
        case .reply(let number): calls.removeValue(forKey: number).map { take(reply: message.body, to: $0) }
        case .failure(let number, let name): calls.removeValue(forKey: number).map { take(failure: name, of: $0) }
        case .signal(Self.bus, "NameOwnerChanged"):
            guard message.body.count == 3, message.body[0] == .string(Self.service),
                let server = message.body[2].stringValue
            else { return }
            loseServer()
            if !server.isEmpty { ask(server) }
        case .signal(Self.service, let name): take(signal: name, message.body)
        case .signal, .call: return
        }
    }

    private func take(signal name: String, _ body: [BusValue]) {
        guard let number = body.first?.uint32Value else { return }
        switch name {
        case "ActionInvoked":
            if let key = body.dropFirst().first?.stringValue { note(.action(number: number, key: key)) }
        case "NotificationClosed": note(.closed(number: number))
        default: return
        }
    }

    private func take(reply body: [BusValue], to call: Call) {
        switch call {
        case .server: if let server = body.first?.stringValue { ask(server) }
        case .capabilities(let server):
            capabilities = Set((body.first?.arrayValue ?? []).compactMap(\.stringValue))
            hasRefused = false
            logger.debug(
                "the desktop shows notices", ["capabilities": capabilities?.sorted().joined(separator: " ") ?? ""])
            note(.ready(server: server))
        case .notify(let notice):
            guard let number = body.first?.uint32Value else { return note(.refused(notice: notice)) }
            note(.shown(notice: notice, number: number))
        case .other: return
        }
    }

    private func take(failure name: String, of call: Call) {
        switch call {
        case .server: logger.debug("no notification server", ["error": name])
        case .capabilities: logger.info("the notification server does not answer", ["error": name])
        case .notify(let notice):
            logger.warning("a notice was not shown", ["error": name])
            hasRefused = true
            loseServer()
            note(.refused(notice: notice))
        case .other(let what): logger.debug("a call on the session bus failed", ["call": what, "error": name])
        }
    }

    private func ask(_ server: String) {
        send(.capabilities(server: server), Self.service, Self.path, Self.service, "GetCapabilities")
    }

    @discardableResult private func send(
        _ call: Call, _ destination: String, _ path: String, _ interface: String, _ method: String,
        _ arguments: [BusValue] = []
    ) -> Bool {
        guard let connection,
            let number = try? connection.call(destination, path, interface, method, arguments)
        else { return false }
        calls[number] = call
        return true
    }

    // MARK: What is shown

    /// Asks for a notification server, because something is to be shown and there is none: connects
    /// to the bus again, or lets the bus start the server. After a refusal the first request, which is
    /// for the refused notice, does nothing: the server would refuse it again at once.
    func request() {
        guard capabilities == nil else { return }
        guard connection != nil else { return retry.set() }
        guard !hasRefused else {
            hasRefused = false
            return
        }
        send(.server, Self.bus, Self.busPath, Self.bus, "GetNameOwner", [.string(Self.service)])
        send(
            .other("StartServiceByName"), Self.bus, Self.busPath, Self.bus, "StartServiceByName",
            [.string(Self.service), .uint32(0)])
    }

    func show(_ notice: Int, _ text: NoticeText) {
        let actions = text.actions.flatMap { [$0.key, $0.label] }
        let hints = BusValue.options([
            "urgency": .byte(1), "category": .string("x-ferry.due"), "desktop-entry": .string("ferry"),
        ])
        // A timeout of 0: until the user closes it.
        let isSent = send(
            .notify(notice), Self.service, Self.path, Self.service, "Notify",
            [
                .string("Ferry"), .uint32(0), .string("appointment-soon"), .string(text.summary), .string(text.body),
                .strings(actions), hints, .int32(0),
            ])
        if !isSent { note(.refused(notice: notice)) }
    }

    func close(_ number: UInt32) {
        send(.other("CloseNotification"), Self.service, Self.path, Self.service, "CloseNotification", [.uint32(number)])
    }

    /// Opens a file with the user's program for it, as a unit of the user's service manager: programs
    /// that this service starts itself would be confined as it is.
    func open(_ file: String) {
        openCount += 1
        let command = BusValue.structure([
            .string("/usr/bin/xdg-open"), .strings(["xdg-open", file]), .boolean(false),
        ])
        func property(_ name: String, _ value: BusValue) -> BusValue {
            .structure([.string(name), .variant(value)])
        }
        send(
            .other("StartTransientUnit"), "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
            "org.freedesktop.systemd1.Manager", "StartTransientUnit",
            [
                .string("ferry-open-\(getpid())-\(openCount).service"), .string("fail"),
                .array(
                    [
                        property("Description", .string("Opens a task of Ferry")),
                        property("CollectMode", .string("inactive-or-failed")),
                        property("ExecStart", .array([command], of: "(sasb)")),
                    ], of: "(sv)"),
                .array([], of: "(sa(sv))"),
            ])
    }
}
