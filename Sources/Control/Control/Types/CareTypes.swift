package import JSON

/// The result of one check of `ferry doctor`.
package struct HealthCheck: JSONCodable, Hashable {
    /// The outcome of a check.
    package enum State: String, Sendable {
        case ok
        /// It works, but the user should look at it.
        case attention
        case failed
        case unknown
    }

    /// A short word for scripts: `root`, `watches`, `disk`, `clock` …
    package var code: String
    package var state: State
    /// The message for the user, one sentence.
    package var message: String
    /// The command or step that helps; nil if none is known.
    package var remedy: String?

    package init(_ code: String, _ state: State, _ message: String, remedy: String? = nil) {
        self.code = code
        self.state = state
        self.message = message
        self.remedy = remedy
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            try json.string("code"), json.choice("state", unknown: .unknown), try json.string("message"),
            remedy: json["remedy"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("code", code.asJSON), ("state", state.rawValue.asJSON), ("message", message.asJSON),
            ("remedy", remedy?.asJSON))
    }
}

/// A device of the account.
package struct DeviceSummary: JSONCodable, Hashable {
    /// The id of the replica on the device.
    package var id: String
    package var name: String
    /// The version of Ferry on the device; nil if it is not known.
    package var version: String?
    /// The hour in which the device was last seen, in RFC 3339 by the remote's clock; nil until the
    /// remote has reported it.
    package var lastSeen: String?
    package var isThisOne: Bool

    package init(id: String, name: String, version: String?, lastSeen: String?, isThisOne: Bool) {
        self.id = id
        self.name = name
        self.version = version
        self.lastSeen = lastSeen
        self.isThisOne = isThisOne
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            id: try json.string("id"), name: try json.string("name"), version: json["version"]?.stringValue,
            lastSeen: json["lastSeen"]?.stringValue, isThisOne: json.flag("thisOne"))
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("name", name.asJSON), ("version", version?.asJSON), ("lastSeen", lastSeen?.asJSON),
            ("thisOne", isThisOne.ifTrue))
    }
}

/// One line of the daemon's log.
package struct LogLine: JSONCodable, Hashable {
    /// The time by the local clock, in RFC 3339.
    package var time: String
    /// `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    package var level: String
    package var text: String

    package init(time: String, level: String, text: String) {
        self.time = time
        self.level = level
        self.text = text
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            time: json["time"]?.stringValue ?? "", level: json["level"]?.stringValue ?? "",
            text: try json.string("text"))
    }

    package var json: JSON { .members(("time", time.asJSON), ("level", level.asJSON), ("text", text.asJSON)) }
}

/// One setting of the daemon that is in effect.
package struct SettingSummary: JSONCodable, Hashable {
    package var key: String
    /// The value as text; empty if there is none.
    package var value: String
    /// The origin of the value: a flag, an environment variable, a file with its path, or
    /// `default`.
    package var source: String

    package init(key: String, value: String, source: String) {
        self.key = key
        self.value = value
        self.source = source
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            key: try json.string("key"), value: json["value"]?.stringValue ?? "",
            source: json["source"]?.stringValue ?? "")
    }

    package var json: JSON { .members(("key", key.asJSON), ("value", value.asJSON), ("source", source.asJSON)) }
}
