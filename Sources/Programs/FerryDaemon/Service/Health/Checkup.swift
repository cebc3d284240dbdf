import AccountClient
import CivilTime
import Control
import DocumentClient
import DocumentModel
import Glibc
import HTTPClient
import HTTPMessages
import JSON
import SystemIO
import TaskModel
import TaskSync

/// A check of everything that the daemon needs. Each item has one line and, if there is a problem,
/// the step that fixes it.
struct Checkup {
    let configuration: DaemonConfiguration
    let status: DaemonStatus
    let stack: SyncStack?
    let http: HTTPClient
    /// The server's description of itself; nil if no user is signed in.
    var server: Result<ServerDescription, any Error>?
    /// Throws the reason why this machine cannot access its objects.
    var probeObjects: @Sendable () async throws -> Void = {}
    /// The account's usage on the server; nil if it is not known.
    var usage: AccountUsageSummary?
    /// The setup of the daemon as a service.
    var service: ServiceSetting?
    /// The holder of the tasks directory's lock.
    var rootHolder = RootLock.Holder.this

    /// The free space in bytes below which attachments and unsent changes are at risk.
    private static let leastFreeSpace: Int64 = 100 << 20
    /// The accepted clock difference in seconds. S3 requests are refused when the clocks differ by
    /// 15 minutes.
    private static let clockTolerance: Int64 = 60
    private static let timeouts = HTTPRequest.Timeouts(
        connect: .seconds(3), stall: .seconds(3), total: .seconds(5))

    func run() async -> [HealthCheck] {
        var checks = [
            HealthCheck("daemon", .ok, "ferryd \(status.version) responds on \(configuration.socket)."), root, watches,
        ]
        checks += [space(in: configuration.tasks, "tasks"), space(in: configuration.state, "state")]
        if let service { checks.append(service.check) }
        checks.append(signIn)
        checks += await serverChecks()
        if let usage { checks.append(ServerChecks.quota(usage)) }
        checks += await values()
        checks += await recovered()
        checks += await otherSync()
        return checks + waiting
    }

    // MARK: This machine

    private var root: HealthCheck {
        if status.state == .rootHeld {
            return HealthCheck(
                "root", .failed, status.reason ?? "The tasks directory is held.", remedy: status.hint)
        }
        guard FileSystem.exists(configuration.tasks) else {
            return HealthCheck(
                "root", .failed, "The tasks directory \(configuration.tasks) is missing.",
                remedy: "Mount or restore it; nothing was deleted.")
        }
        guard FileSystem.exists("\(configuration.tasks)/.ferry/root") else {
            let isNew = stack == nil
            return HealthCheck(
                "root", isNew ? .ok : .failed, "The tasks directory \(configuration.tasks) has no marker .ferry/root.",
                remedy: isNew ? nil : "ferry sync; if that does not help: ferry rebind.")
        }
        return HealthCheck("root", .ok, "The tasks directory \(configuration.tasks) has its marker.")
    }

    private var watches: HealthCheck {
        if let problem = status.problems.first(where: { ["not-watched", "watch-limit"].contains($0.code) }) {
            return HealthCheck(
                "watches", .failed, problem.message,
                remedy: problem.hint
                    ?? "sudo sysctl fs.inotify.max_user_watches=524288; keep it in /etc/sysctl.d/ferry.conf")
        }
        let used = Self.usedWatches()
        guard let limit = Self.number(in: "/proc/sys/fs/inotify/max_user_watches") else {
            return HealthCheck("watches", .ok, "\(Count(used, "directory", "directories")) watched.")
        }
        guard used * 10 < limit * 9 else {
            return HealthCheck(
                "watches", .attention, "\(used) of \(limit) watches (fs.inotify.max_user_watches) are used here.",
                remedy: "sudo sysctl fs.inotify.max_user_watches=\(max(limit * 2, 524_288))")
        }
        return HealthCheck(
            "watches", .ok,
            "\(Count(used, "directory", "directories")) watched; fs.inotify.max_user_watches allows \(limit).")
    }

    /// Returns the number of inotify watches of this process: one `inotify wd:` line each in
    /// proc_pid_fdinfo(5).
    private static func usedWatches() -> Int {
        guard let directory = try? Directory(path: "/proc/self/fdinfo"), let entries = try? directory.entries() else {
            return 0
        }
        return entries.reduce(0) { count, entry in
            guard let bytes = try? directory.read(entry.name, limit: 8 << 20) else { return count }
            return count
                + String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("inotify wd:") }
                .count
        }
    }

    private static func number(in path: String) -> Int? {
        // Read in one piece, because proc_sys(5) files return nothing after the first read.
        guard let bytes = try? FileDescriptor(path: path, .read).read(64, at: 0) else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace })
    }

    private func space(in path: String, _ name: String) -> HealthCheck {
        let code = "disk-\(name)"
        guard let free = try? FileSystem.freeSpace(path) else {
            return HealthCheck(
                code, .attention, "The free space of \(path) is unknown.", remedy: "Look at: df \(path)")
        }
        let text = "\(free >> 20) MiB"
        guard free >= Self.leastFreeSpace else {
            return HealthCheck(
                code, .failed, "Only \(text) are free on the disk of \(path).",
                remedy: "Free some space; waiting changes are then written automatically.")
        }
        return HealthCheck(code, .ok, "\(text) are free on the disk of \(path).")
    }

    // MARK: The server

    private var signIn: HealthCheck {
        guard let account = status.account else {
            return HealthCheck("sign-in", .failed, "No account is signed in.", remedy: Account.nobody.hint)
        }
        if status.state == .needsSignIn {
            return HealthCheck("sign-in", .failed, status.reason ?? "Signing in is needed.", remedy: status.hint)
        }
        return HealthCheck(
            "sign-in", .ok, "\(account.email ?? "An anonymous account") is signed in on \(account.server).")
    }

    private func serverChecks() async -> [HealthCheck] {
        let server: ServerDescription
        switch self.server {
        case nil: return []
        case .failure(let error):
            return [
                HealthCheck(
                    "endpoint-identity", .failed, "\(error)",
                    remedy: (error as? ControlError)?.hint ?? "Check the network, and that ferry-server runs there.")
            ]
        case .success(let description)?: server = description
        }
        var checks: [HealthCheck] = []
        let objects = server.keepsObjects ? server.objects : server.objectsPlace
        let parts = [("identity", server.url + "/.well-known/ferry"), ("objects", objects)]
        for (part, url) in parts {
            do {
                let began = Clocks.wallSeconds()
                let response = try await http.send(HTTPRequest(.get, url, timeouts: Self.timeouts))
                if part == "objects" {
                    do { try await probeObjects() } catch {
                        checks.append(refused(error, by: server))
                        continue
                    }
                }
                checks.append(HealthCheck("endpoint-\(part)", .ok, "\(Self.place(url)) answers (\(part))."))
                if part == "identity" {
                    let body = try? await JSON(parsing: response.body.collect(limit: 64 << 10))
                    checks.append(ServerChecks.version(of: body?["version"]?.stringValue, here: status.version))
                    checks += await certificate(of: url).map { [$0] } ?? []
                }
                if part == "identity", let date = response.headers["Date"] {
                    checks.append(clock(serverDate: date, from: began, to: Clocks.wallSeconds()))
                }
            } catch {
                let isInsecure = (error as? HTTPError)?.code == .insecure
                checks.append(
                    HealthCheck(
                        "endpoint-\(part)", .failed, "\(Self.place(url)) (\(part)) cannot be reached: \(error)",
                        remedy: isInsecure
                            ? Discovery.certificateHint : "Check the network, and that ferry-server runs there."))
            }
        }
        let online = stack?.clientStatus.connection == .online
        checks.append(
            HealthCheck(
                "endpoint-documents", online || status.state == .paused ? .ok : .failed,
                online
                    ? "\(server.documents) answers (documents)."
                    : status.state == .paused
                        ? "\(server.documents) (documents) is not checked while syncing is paused."
                        : "\(server.documents) (documents): \(status.reason ?? "not connected").",
                remedy: online || status.state == .paused ? nil : "ferry sync tries again at once."))
        return checks
    }

    private func certificate(of url: String) async -> HealthCheck? {
        guard url.hasPrefix("https://") else { return nil }
        let expiry = await HTTPClient.certificateExpiry(of: url, authorities: configuration.authorities?.path)
        return ServerChecks.certificate(of: Self.place(url), expiry: expiry, now: Clocks.wallSeconds())
    }

    /// The store of objects answers, and does not do what it is asked for.
    private func refused(_ error: any Error, by server: ServerDescription) -> HealthCheck {
        HealthCheck(
            "endpoint-objects", .failed,
            "\(Self.place(server.objects)) (objects) refuses this machine: \(error)",
            remedy: server.keepsObjects
                ? "Run ferry login URL, and check the log of ferry-server."
                : "Check objects-keys in ferryd.yaml, and objects and objects-region of ferry-server.")
    }

    /// Returns `host:port` of a URL.
    private static func place(_ url: String) -> String {
        let rest = url.split(separator: "://", maxSplits: 1).last ?? ""
        return String(rest.prefix { $0 != "/" })
    }

    private func clock(serverDate: String, from earliest: Int64, to latest: Int64) -> HealthCheck {
        guard let theirs = UTCTime(imfFixdate: serverDate)?.seconds else {
            return HealthCheck("clock", .ok, "The server does not report its time.")
        }
        let difference = theirs < earliest - 1 ? earliest - theirs : theirs > latest + 1 ? theirs - latest : 0
        guard difference > Self.clockTolerance else {
            return HealthCheck("clock", .ok, "The clock agrees with the server's.")
        }
        return HealthCheck(
            "clock", .attention,
            "The clock here differs from the server's by \(difference) s. No task depends on it, but certificates do.",
            remedy: "timedatectl set-ntp true")
    }

    // MARK: Tasks

    /// Returns the checks for known keys whose values are not understood. They are kept, but may be
    /// mistakes.
    private func values() async -> [HealthCheck] {
        guard let misunderstood = try? await stack?.sync.misunderstoodValues(), let first = misunderstood.first else {
            return []
        }
        let keys = first.keys.joined(separator: ", ")
        let others =
            misunderstood.count > 1 ? " and \(Count(misunderstood.count - 1, "other task", "other tasks"))" : ""
        return [
            HealthCheck(
                "values", .attention,
                "'\(first.title)' (\(keys))\(others) have values that are not understood; they are kept.",
                remedy: "ferry show \(first.task.rawValue.prefix(8))")
        ]
    }

    /// Returns the checks for files that a crash or a failed write left. Only the user can tell
    /// whether they contain something that exists nowhere else.
    private func recovered() async -> [HealthCheck] {
        guard let (count, goes) = try? await stack?.sync.recovered(), count > 0 else { return [] }
        let days = configuration.trashDays
        let end =
            days == 0
            ? "Nothing is removed automatically, because trash-days is 0."
            : goes.map { "The first is removed on \($0.rfc3339.prefix(10))." }
                ?? "Each is removed \(Count(days, "day", "days")) after it was found."
        return [
            HealthCheck(
                "recovered", .attention,
                "\(Count(count, "file", "files")) in \(configuration.tasks)/.ferry/recovered, left by a crash or a failed write, may "
                    + "contain text that exists nowhere else. \(end)",
                remedy: "Check the files, move out those with missing text, and delete the rest.")
        ]
    }

    private func otherSync() async -> [HealthCheck] {
        let copies = await stack?.sync.catalog.living.filter { OtherSync.isConflictCopy($0.title) }.map(\.title) ?? []
        var found: [String] = []
        if let (name, directory) = OtherSync.program(at: configuration.tasks) {
            found.append("\(name) also syncs \(directory).")
        }
        if let tree = OtherSync.workingTree(around: configuration.tasks, home: ProcessEnvironment["HOME"]) {
            found.append(
                "\(tree) is a working tree of Git: a pull or a checkout changes or deletes tasks on all machines.")
        }
        switch rootHolder {
        case .this, .nobody: break
        case .another: found.append("Another ferryd uses \(configuration.tasks), too.")
        case .unknown:
            found.append("Another ferryd cannot be kept out of \(configuration.tasks): its file system has no locks.")
        }
        if let first = copies.min() {
            found.append("\(Count(copies.count, "task has", "tasks have")) the name of a conflict copy ('\(first)').")
        }
        guard !found.isEmpty else { return [] }
        return [
            HealthCheck(
                "other-sync", .attention, found.joined(separator: " "),
                remedy: "Use only one program: each takes the changes of the other for the user's.")
        ]
    }

    private var waiting: [HealthCheck] {
        var checks: [HealthCheck] = []
        if status.heldDeletes > 0 {
            checks.append(
                HealthCheck(
                    "held-deletes", .attention,
                    "\(Count(status.heldDeletes, "delete is", "deletes are")) held for review.", remedy: "ferry deletes"
                ))
        }
        if status.heldReverts > 0 {
            checks.append(
                HealthCheck(
                    "held-reverts", .attention,
                    "\(Count(status.heldReverts, "file")) went back to an older version, and wait for approval.",
                    remedy: "ferry deletes"))
        }
        if status.invitations > 0 {
            checks.append(
                HealthCheck(
                    "invitations", .ok,
                    "\(Count(status.invitations, "invitation waits", "invitations wait")) for an answer: ferry invitations."
                ))
        }
        if status.sentInvitations > 0 {
            checks.append(
                HealthCheck(
                    "sent-invitations", .ok,
                    "\(Count(status.sentInvitations, "invitation", "invitations")) of this account not answered yet."))
        }
        if status.conflicts > 0 {
            checks.append(
                HealthCheck(
                    "conflicts", .attention, "\(Count(status.conflicts, "conflict waits", "conflicts wait")).",
                    remedy: "ferry conflicts"))
        }
        for problem in status.problems where !["not-watched", "watch-limit"].contains(problem.code) {
            let subject = problem.subject.map { "\($0): " } ?? ""
            checks.append(HealthCheck(problem.code, .attention, subject + problem.message, remedy: problem.hint))
        }
        return checks
    }
}
