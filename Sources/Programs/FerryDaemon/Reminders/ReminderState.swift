import JSON
import SystemIO
import TaskModel

/// The state of reminders that outlives a restart: those that were shown, and the notices on the
/// desktop with the server's numbers.
struct ReminderState: Sendable, Hashable {
    var planner: ReminderPlanner
    /// The unique name of the notification server on the bus.
    var server = ""
    /// The server's numbers of the open notices.
    var numbers: [Int: UInt32] = [:]

    /// The ends of the snoozes before the first sign-in, by the paths of the tasks' files. The
    /// sign-in makes other documents of these files.
    var earlySnoozes: [String: Int64] = [:]

    init(since now: Int64) { planner = ReminderPlanner(since: now) }

    /// Reads a state; nil for a text that is not one.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes), let since = json["since"]?.integerValue else { return nil }
        var numbers: [Int: UInt32] = [:]
        let open = (json["open"]?.arrayValue ?? []).compactMap { notice -> ReminderNotice? in
            guard let number = notice["number"]?.integerValue, let keys = notice["keys"]?.arrayValue else { return nil }
            let id = numbers.count + 1
            numbers[id] = UInt32(clamping: number)
            return ReminderNotice(id: id, keys: keys.compactMap(Self.key))
        }
        let shown = Set((json["shown"]?.arrayValue ?? []).compactMap(Self.key))
        planner = ReminderPlanner(since: since, shown: shown, open: open)
        server = json["server"]?.stringValue ?? ""
        self.numbers = numbers
        for snooze in json["snoozes"]?.arrayValue ?? [] {
            if let path = snooze["path"]?.stringValue { earlySnoozes[path] = snooze["until"]?.integerValue }
        }
    }

    var bytes: [UInt8] {
        let open = planner.open.compactMap { notice -> JSON? in
            guard let number = numbers[notice.id] else { return nil }
            return ["number": .integer(Int64(number)), "keys": .array(notice.keys.map(Self.json))]
        }
        let snoozes = earlySnoozes.sorted { $0.key < $1.key }.map { path, until -> JSON in
            ["path": .string(path), "until": .integer(until)]
        }
        let json: JSON = [
            "version": 1, "since": .integer(planner.since), "server": .string(server),
            "shown": .array(planner.shown.sorted().map(Self.json)), "open": .array(open),
            "snoozes": .array(snoozes),
        ]
        return json.bytes
    }

    private static func json(_ key: ReminderKey) -> JSON {
        .array([.string(key.task.rawValue), .string(key.reminder), .integer(key.time)])
    }

    private static func key(_ json: JSON) -> ReminderKey? {
        guard let parts = json.arrayValue, parts.count == 3, let task = parts[0].stringValue,
            let reminder = parts[1].stringValue, let time = parts[2].integerValue
        else { return nil }
        return ReminderKey(task: TaskID(task), reminder: reminder, time: time)
    }
}
