import CommandLineTool
import Glibc
import ObjectStorage
import SystemIO
import SystemService
import TaskModel
import YAML

/// Reads the configuration. A flag takes precedence over an environment variable, and a variable
/// over the file.
///
/// All errors are `DaemonError` with `.configuration` and name the flag, the variable or the line.
struct ConfigurationReader {
    private enum Source {
        case flag
        case variable
        case file
    }

    /// The value of a setting as text, with its source.
    struct Entry: Sendable, Hashable {
        let setting: Setting
        let value: String
        /// `--tasks`, `FERRY_TASKS`, the file's path, or `default`.
        let source: String
    }

    /// Content of a configuration file that is checked before it is saved.
    struct Draft: Sendable, Hashable {
        let name: String
        let text: String
    }

    private let flags: ParsedArguments
    private let environment: @Sendable (String) -> String?
    private let file: YAMLConfiguration?
    private let path: String?
    /// The directory to which relative paths in flags are relative.
    private let workingDirectory: String

    /// Reads the file that `--config` or FERRY_CONFIG names, or the default file if it exists.
    ///
    /// - Parameter draft: The content to use instead of the file's.
    init(
        _ flags: ParsedArguments, workingDirectory: String,
        environment: @escaping @Sendable (String) -> String? = { ProcessEnvironment[$0] }, draft: Draft? = nil
    ) throws {
        self.flags = flags
        self.environment = environment
        self.workingDirectory = workingDirectory
        let named = flags.value("config") ?? environment("FERRY_CONFIG")
        let home = environment("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let configurations =
            environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home.map { "\($0)/.config" }
        let path =
            try draft?.name ?? named.map { try Self.absolute($0, in: workingDirectory, home: home, named: "--config") }
            ?? configurations.map { "\($0)/ferry/ferryd.yaml" }
        self.path = path
        guard let path else {
            file = nil
            return
        }
        do {
            let present = try draft.map { Array($0.text.utf8) } ?? FileSystem.readIfPresent(path, limit: 1 << 20)
            guard let bytes = present else {
                guard named == nil else {
                    throw DaemonError(.configuration, "There is no configuration file \(path).")
                }
                file = nil
                return
            }
            let file = try YAMLConfiguration(parsing: bytes)
            try file.allow(Setting.all.map(\.name))
            self.file = file
        } catch let error as DaemonError {
            throw error
        } catch {
            throw Self.unusable(path, error)
        }
    }

    func configuration() throws -> DaemonConfiguration {
        var configuration = DaemonConfiguration(
            tasks: try directory(.tasks) ?? "\(try home(for: .tasks))/Tasks",
            state: try directory(.state) ?? defaultState(), socket: try socket())
        if let (name, source) = try value(.logLevel) {
            guard let level = LogLevel(name) else {
                throw invalid(
                    .logLevel, source,
                    "is one of \(LogLevel.allCases.map(\.name).joined(separator: ", ")), not '\(name)'")
            }
            configuration.logLevel = level
        }
        configuration.uploadLimit = try rate(.uploadLimit)
        configuration.downloadLimit = try rate(.downloadLimit)
        configuration.downloadsUpTo = try downloadsUpTo()
        configuration.authorities = try authorities()
        configuration.compression = try compression()
        if let days = try trashDays() { configuration.trashDays = days }
        configuration.objectsKeys = try directory(.objectsKeys)
        configuration.showsReminders = try showsReminders()
        configuration.reading.vocabulary = try vocabulary()
        configuration.reading.dayReminder = try dayReminder()
        configuration.rebinds = flags.has("rebind")
        configuration.deviceName = try deviceName()
        let (tasks, state) = (configuration.tasks, configuration.state)
        guard tasks != state, !state.hasPrefix(tasks + "/"), !tasks.hasPrefix(state + "/") else {
            throw DaemonError(
                .configuration, "The tasks directory \(tasks) and the state directory \(state) must be separate.")
        }
        return configuration
    }

    /// Returns the path of the control socket.
    func socket() throws -> String { try directory(.socket) ?? defaultSocket() }

    /// Returns the settings of `configuration` one by one, each with its source.
    func entries() throws -> [Entry] {
        let configuration = try configuration()
        return try Setting.all.map { setting in
            let found = try value(setting)
            let source: String =
                switch found?.1 {
                case .flag?: "--\(setting.name)"
                case .variable?: setting.variable
                case .file?: path ?? ""
                case nil: "default"
                }
            let value: String? =
                switch setting {
                case .tasks: configuration.tasks
                case .state: configuration.state
                case .socket: configuration.socket
                case .tlsCA: configuration.authorities?.path
                case .objectsKeys: configuration.objectsKeys
                case .deviceName: configuration.deviceName
                case .logLevel: configuration.logLevel.name
                case .reminders: configuration.showsReminders ? "on" : "off"
                default: found?.0
                }
            return Entry(setting: setting, value: value ?? "", source: source)
        }
    }

    private func deviceName() throws -> String {
        guard let (text, source) = try value(.deviceName) else { return Self.hostName }
        let name = text.filter { !$0.isWhitespace || $0 == " " }
        guard !name.isEmpty, name.count <= 100, name == text else {
            throw invalid(.deviceName, source, "is a name of up to 100 characters, not '\(text.prefix(120))'")
        }
        return name
    }

    private static var hostName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0, buffer[0] != 0 else { return "unnamed" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: Defaults

    private func home(for setting: Setting) throws -> String {
        guard let home = environment("HOME"), home.hasPrefix("/") else {
            throw DaemonError(
                .configuration, "HOME is not set, so there is no default for \(setting.name). Give --\(setting.name).")
        }
        return home
    }

    private func defaultState() throws -> String {
        if let data = environment("XDG_DATA_HOME"), data.hasPrefix("/") { return "\(data)/ferry" }
        return "\(try home(for: .state))/.local/share/ferry"
    }

    private func defaultSocket() -> String {
        if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
            return "\(runtime)/ferry/ferryd.sock"
        }
        return "/run/ferry/ferryd.sock"
    }

    // MARK: Values

    private func value(_ setting: Setting) throws -> (String, Source)? {
        if let value = flags.value(setting.name) { return (value, .flag) }
        if let value = environment(setting.variable) { return (value, .variable) }
        guard let file, let path else { return nil }
        do { return try file.string(setting.name).map { ($0, .file) } } catch { throw Self.unusable(path, error) }
    }

    private func directory(_ setting: Setting) throws -> String? {
        guard let (text, source) = try value(setting) else { return nil }
        return try path(text, of: setting, from: source)
    }

    private func path(_ text: String, of setting: Setting, from source: Source) throws -> String {
        // A relative path in a file has no obvious base directory.
        if source == .file, !text.hasPrefix("/"), text != "~", !text.hasPrefix("~/") {
            throw invalid(setting, source, "must begin with / or ~/, not '\(text)'")
        }
        return try Self.absolute(
            text, in: workingDirectory, home: environment("HOME"), named: place(setting, source))
    }

    private func authorities() throws -> DaemonConfiguration.Authorities? {
        guard let (text, source) = try value(.tlsCA) else { return nil }
        let path = try path(text, of: .tlsCA, from: source)
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try FileSystem.read(path, limit: 1 << 20) } catch {
            throw invalid(.tlsCA, source, "cannot be read: \(error.message)")
        }
        let pem = String(decoding: bytes, as: UTF8.self)
        guard pem.contains("-----BEGIN CERTIFICATE-----") else {
            throw invalid(.tlsCA, source, "names \(path), which has no certificate in PEM format")
        }
        return DaemonConfiguration.Authorities(path: path, pem: pem)
    }

    private func rate(_ setting: Setting) throws -> Int? {
        guard let (text, source) = try value(setting) else { return nil }
        guard let bytes = Self.bytes(text) else {
            throw invalid(setting, source, "is bytes per second, such as 500K or 2M, not '\(text)'")
        }
        return bytes == 0 ? nil : bytes
    }

    private func downloadsUpTo() throws -> Int? {
        guard let (text, source) = try value(.download), text != "all" else { return nil }
        if text == "none" { return 0 }
        guard let bytes = Self.bytes(text) else {
            throw invalid(.download, source, "is all, none, or a size such as 500K or 10M, not '\(text)'")
        }
        return bytes
    }

    private func compression() throws -> CompressionPolicy {
        guard let (text, source) = try value(.compression), text != "auto" else { return .automatic }
        if text == "off" { return .off }
        guard let level = Int(text), (1...9).contains(level) else {
            throw invalid(.compression, source, "is auto, off, or a level from 1 (fast) to 9 (small), not '\(text)'")
        }
        return .level(level)
    }

    private func trashDays() throws -> Int? {
        guard let (text, source) = try value(.trashDays) else { return nil }
        guard let days = Int(text), (0...36_500).contains(days) else {
            throw invalid(.trashDays, source, "is a number of days, or 0 for ever, not '\(text)'")
        }
        return days
    }

    private func showsReminders() throws -> Bool {
        guard let (text, source) = try value(.reminders) else { return true }
        switch text.lowercased() {
        case "on", "true", "yes": return true
        case "off", "false", "no": return false
        default: throw invalid(.reminders, source, "is on or off, not '\(text)'")
        }
    }

    private func dayReminder() throws -> Int64? {
        guard let (text, source) = try value(.dayReminders), !["off", "false", "no"].contains(text.lowercased()) else {
            return nil
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count == 2, parts.allSatisfy({ $0.allSatisfy(\.isASCII) }),
            let hour = Int64(parts[0]), let minute = Int64(parts[1]), (0..<24).contains(hour), (0..<60).contains(minute)
        else { throw invalid(.dayReminders, source, "is off or a time such as 9:00, not '\(text)'") }
        return hour * 3600 + minute * 60
    }

    private func vocabulary() throws -> TaskVocabulary {
        var (statuses, priorities): ([TaskVocabulary.StatusRow], [TaskVocabulary.PriorityRow]) = ([], [])
        if let (text, source) = try value(.statusWords) {
            for row in text.split(separator: ";") {
                let groups = Self.words(row)
                guard (2...3).contains(groups.count), groups.prefix(2).allSatisfy({ !$0.isEmpty }) else {
                    throw invalid(
                        .statusWords, source,
                        "is words for open, done and perhaps cancelled tasks, such as 'open, doing | done | dropped', not '\(row)'"
                    )
                }
                statuses.append(.init(open: groups[0], done: groups[1], cancelled: groups.count > 2 ? groups[2] : []))
            }
        }
        if let (text, source) = try value(.priorityWords) {
            let groups = Self.words(text[...])
            guard groups.count == 3 else {
                throw invalid(
                    .priorityWords, source,
                    "is words for high, medium and low, such as 'urgent | normal | later', not '\(text)'")
            }
            priorities = zip([.high, .medium, .low], groups).map { .init($0, $1) }
        }
        return TaskVocabulary(statuses: statuses, priorities: priorities)
    }

    /// Returns words that are separated by commas, in groups that are separated by `|`.
    private static func words(_ text: Substring) -> [[String]] {
        text.split(separator: "|", omittingEmptySubsequences: false).map { group in
            group.split(separator: ",").map { word in
                let words = word.split(whereSeparator: \.isWhitespace)
                return words.joined(separator: " ")
            }.filter { !$0.isEmpty }
        }
    }

    private static func bytes(_ text: String) -> Int? {
        let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let unit = text.last.flatMap { units[Character($0.uppercased())] }
        guard let number = Int(unit == nil ? text[...] : text.dropLast()), number >= 0,
            case (let bytes, false) = number.multipliedReportingOverflow(by: unit ?? 1)
        else { return nil }
        return bytes
    }

    /// Returns an absolute path without `.`, without `..` components, and without a slash at its
    /// end.
    private static func absolute(
        _ text: String, in directory: String, home: String?, named place: String
    ) throws -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw DaemonError(.configuration, "\(place) is not a path.")
        }
        var path = text
        if text == "~" || text.hasPrefix("~/") {
            guard let home, home.hasPrefix("/") else {
                throw DaemonError(.configuration, "\(place) begins with ~, but HOME is not set.")
            }
            path = home + text.dropFirst()
        } else if !text.hasPrefix("/") {
            path = "\(directory)/\(text)"
        }
        let parts = path.split(separator: "/").filter { $0 != "." }
        return "/" + parts.joined(separator: "/")
    }

    // MARK: Errors

    private func place(_ setting: Setting, _ source: Source) -> String {
        switch source {
        case .flag: "--\(setting.name)"
        case .variable: setting.variable
        case .file: "\(path ?? ""): \(setting.name)"
        }
    }

    private func invalid(_ setting: Setting, _ source: Source, _ why: String) -> DaemonError {
        DaemonError(.configuration, "\(place(setting, source)) \(why).")
    }

    private static func unusable(_ path: String, _ error: any Error) -> DaemonError {
        switch error {
        case let error as YAMLError:
            DaemonError(.configuration, "\(path), \(error)\("\(error)".hasSuffix("?") ? "" : ".")", cause: error)
        default: DaemonError(.configuration, "The configuration file cannot be used: \(error).", cause: error)
        }
    }
}
