import MessageBus
import SystemIO
import SystemService

/// Whether the user is at this machine, as the login manager (systemd-logind) says of the user's
/// graphical session.
///
/// It wakes only when that changes. Without a login manager the user counts as present.
actor SessionPresence {
    private enum Call: Sendable {
        case session
        case state(path: String)
        case other
    }

    private let logger: Logger
    private let onChange: @Sendable () -> Void
    private var calls: [UInt64: Call] = [:]
    /// The path of the session on the bus; nil if there is none.
    private var session: String?
    /// Whether the session is idle or locked.
    private(set) var isAway = false

    private static let service = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let bus = "org.freedesktop.DBus"

    /// - Parameter onChange: Called when `isAway` has changed. It must be quick.
    init(logger: Logger, onChange: @escaping @Sendable () -> Void) {
        self.logger = logger
        self.onChange = onChange
    }

    /// Follows the session until cancelled. Ends at once if there is no system bus.
    func run() async {
        var backoff = Backoff(.seconds(1) ... .seconds(64), spread: 1...1)
        var hasBus = false
        while !Task.isCancelled {
            do {
                let connection = try BusConnection(.system)
                hasBus = true
                try subscribe(connection)
                while true {
                    while let message = try connection.receive() {
                        try take(message, connection)
                        backoff.reset()
                    }
                    try await connection.wait()
                }
            } catch {
                guard hasBus else { return }
                logger.debug("the system bus has ended", ["reason": "\(error)"])
            }
            calls = [:]
            session = nil
            set(isAway: false)
            try? await Task.sleep(for: backoff.next(random: 0))
        }
    }

    private func subscribe(_ connection: BusConnection) throws {
        // A session that begins or ends, and a login manager that is started again.
        for rule in [
            "type='signal',sender='\(Self.service)',interface='\(Self.service).Manager',path='\(Self.path)'",
            "type='signal',sender='\(Self.bus)',member='NameOwnerChanged',arg0='\(Self.service)'",
        ] {
            try watch(rule, connection)
        }
        try askForSession(connection)
    }

    private func watch(_ rule: String, _ connection: BusConnection) throws {
        calls[try connection.call(Self.bus, "/org/freedesktop/DBus", Self.bus, "AddMatch", [.string(rule)])] = .other
    }

    private func askForSession(_ connection: BusConnection) throws {
        calls = calls.filter { if case .session = $0.value { false } else { true } }
        let arguments: [BusValue] = [.string("\(Self.service).User"), .string("Display")]
        calls[
            try connection.call(Self.service, "\(Self.path)/user/self", Self.properties, "Get", arguments)] = .session
    }

    private func take(_ message: BusMessage, _ connection: BusConnection) throws {
        switch message.kind {
        case .reply(let number):
            switch calls.removeValue(forKey: number) {
            case .session?: try follow(Self.display(message.body), connection)
            case .state(let path)? where path == session: set(isAway: Self.isAway(message.body))
            default: break
            }
        case .failure(let number, let name):
            if case .session? = calls.removeValue(forKey: number) {
                logger.debug("the login manager knows no session", ["error": name])
                try follow(nil, connection)
            }
        case .signal(Self.properties, _):
            // A signal tells what has changed, or only that something has.
            if let session { try askForState(of: session, connection) }
        case .signal(_, "SessionNew"), .signal(_, "SessionRemoved"), .signal(_, "NameOwnerChanged"):
            try askForSession(connection)
        case .signal, .call: break
        }
    }

    /// Follows another session than before.
    private func follow(_ path: String?, _ connection: BusConnection) throws {
        guard path != session else { return }
        let old = session
        session = path
        if let old {
            calls[
                try connection.call(
                    Self.bus, "/org/freedesktop/DBus", Self.bus, "RemoveMatch", [.string(Self.rule(old))])] = .other
        }
        guard let path else { return set(isAway: false) }
        try watch(Self.rule(path), connection)
        try askForState(of: path, connection)
    }

    private static func rule(_ session: String) -> String {
        "type='signal',sender='\(service)',interface='\(properties)',member='PropertiesChanged',path='\(session)'"
    }

    private func askForState(of session: String, _ connection: BusConnection) throws {
        let arguments: [BusValue] = [.string("\(Self.service).Session")]
        calls[try connection.call(Self.service, session, Self.properties, "GetAll", arguments)] = .state(path: session)
    }

    private func set(isAway: Bool) {
        guard isAway != self.isAway else { return }
        self.isAway = isAway
        logger.debug(isAway ? "the session is idle or locked" : "the session is in use")
        onChange()
    }

    /// Returns the path of the session in a value of the property `Display`; nil if there is none.
    private static func display(_ body: [BusValue]) -> String? {
        guard case .structure(let members)? = body.first?.variantValue, members.count == 2,
            case .objectPath(let path) = members[1], path != "/"
        else { return nil }
        return path
    }

    private static func isAway(_ body: [BusValue]) -> Bool {
        (body.first?.arrayValue ?? []).contains { property in
            guard case .entry(.string(let name), let value) = property else { return false }
            return ["IdleHint", "LockedHint"].contains(name) && value.variantValue?.booleanValue == true
        }
    }
}
