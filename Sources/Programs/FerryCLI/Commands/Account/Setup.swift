import CommandLineTool
import Control
import Glibc
import SystemIO

extension Command {
    static let setup = Command.daemon(
        "setup", group: "Account", summary: "sets up this machine: directory, service, sign-in, first sync",
        discussion: """
            Asks on a terminal for what the options do not say, and may be run again: what is done already stays. Whoever runs the
            server gets the line for it from 'ferry-server setup'.

                ferry setup https://tasks.example.org --code CODE              an account that the server made for you
                ferry setup https://tasks.example.org --email me@example.org   its other machines
                ferry setup https://tasks.example.org --email me@example.org --invite CODE

            --tasks and --tls-ca are written into ferryd.yaml. The daemon becomes a service of the user's systemd, that starts with
            the user's session; with --linger also without one. Without URL only the directory and the service are set up:
            tasks are kept on this machine, and go to a server with a later sign-in.
            """,
        arguments: [Argument("URL", .optional, summary: "the server's address")],
        options: Command.credentials + [
            Option("create", summary: "create the account"),
            Option("invite", value: "CODE", summary: "the invitation that a new account is made with"),
            Option("code", value: "CODE", summary: "set the password with this code"),
            Option("merge", summary: "merge the tasks of another account with this one's without asking"),
            Option("tasks", value: "DIR", summary: "the tasks directory (default ~/Tasks)", completion: .directories),
            Option(
                "tls-ca", value: "FILE", summary: "PEM file of the certificates to trust", completion: .files),
            Option("no-service", summary: "leave systemd alone; 'ferryd run' has to run"),
            Option("linger", summary: "let the daemon run while the user has no session"),
            Option("timeout", value: "SECONDS", summary: "give up waiting for the first sync; 600 unless told"),
        ]
    ) { context in
        try await MachineSetup(context: context).run()
    }
}

/// One run of `ferry setup`.
private struct MachineSetup {
    let context: CommandContext

    private var arguments: ParsedArguments { context.arguments }
    private var usesService: Bool { !arguments.has("no-service") }

    func run() async throws -> ExitStatus {
        let timeout = try arguments.integer("timeout", in: 1...86_400) ?? 600
        let settingsHaveChanged = try writeSettings()
        try startDaemon(restarts: settingsHaveChanged)
        let status = try await daemonStatus()
        say("directory", status.tasksDirectory)
        guard try await signIn(status) else {
            say("server", "none yet; 'ferry setup URL' signs in later, and sends what is here")
            return .success
        }
        return try await firstSync(timeout)
    }

    private func say(_ step: String, _ text: String) {
        context.terminal.print("\(step)\(String(repeating: " ", count: max(1, 11 - step.count)))\(text.printable)")
    }

    // MARK: Settings and service

    /// Writes the options that are settings of the daemon. Returns whether the file has changed.
    private func writeSettings() throws -> Bool {
        let settings = ["tasks", "tls-ca"].compactMap { key in arguments.value(key).map { (key, $0) } }
        guard !settings.isEmpty else { return false }
        let path = try settingsPath()
        let old = try FileSystem.readIfPresent(path, limit: 1 << 20).map { String(decoding: $0, as: UTF8.self) } ?? ""
        var file = SettingsFile(old)
        for (key, value) in settings { file.set(key, to: try absolute(value)) }
        guard file.text != old else { return false }
        try FileSystem.makeDirectories(FileSystem.split(path).parent, mode: 0o755)
        try FileSystem.replace(path, with: Array(file.text.utf8), mode: 0o644)
        say("settings", "\(path) has \(settings.map(\.0).joined(separator: " and "))")
        return true
    }

    private func settingsPath() throws -> String {
        if let path = ProcessEnvironment["FERRY_CONFIG"], !path.isEmpty { return try absolute(path) }
        if let directory = ProcessEnvironment["XDG_CONFIG_HOME"], directory.hasPrefix("/") {
            return "\(directory)/ferry/ferryd.yaml"
        }
        guard let home = ProcessEnvironment["HOME"], home.hasPrefix("/") else {
            throw CommandFailure("HOME is not set, so there is no place for ferryd.yaml.", status: .usage)
        }
        return "\(home)/.config/ferry/ferryd.yaml"
    }

    private func absolute(_ path: String) throws -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let directory = getcwd(nil, 0) else { throw CommandFailure("The working directory is gone.") }
        defer { free(directory) }
        return "\(String(cString: directory))/\(path)"
    }

    /// Enables and starts the service, and has a daemon that runs read changed settings.
    private func startDaemon(restarts: Bool) throws {
        guard usesService else { return }
        guard UserService.isThere else {
            throw CommandFailure(
                "systemd runs no services of this user, or has no units of ferryd.",
                hint: "Install the package, or start 'ferryd run' yourself and add --no-service.")
        }
        let wasEnabled = UserService.isEnabled
        if !wasEnabled { try UserService.systemctl("enable", "ferryd.socket", "ferryd.service") }
        try UserService.systemctl("start", "ferryd.socket")
        try UserService.systemctl(restarts ? "restart" : "start", "ferryd.service")
        say("service", "ferryd \(wasEnabled ? "is enabled already" : "runs, and starts with your session")")
        guard arguments.has("linger") else { return }
        guard try Program.run("loginctl", ["enable-linger"]) == 0 else {
            throw CommandFailure(
                "The service cannot be kept without a session.", hint: "sudo loginctl enable-linger $USER")
        }
    }

    private func daemonStatus() async throws -> DaemonStatus {
        let status: DaemonStatus
        do { status = try await context.service.status() } catch let error as ControlError
            where error.code == .notRunning
        {
            throw CommandFailure(
                error.message, hint: "Start it with 'ferryd run', or leave out --no-service.", status: .notRunning)
        }
        guard status.state != .configurationError else {
            throw CommandFailure(status.reason ?? "", hint: status.hint, status: .badConfiguration)
        }
        if let wanted = try arguments.value("tasks").map({ try absolute($0) }), wanted != status.tasksDirectory {
            throw CommandFailure(
                "The daemon that runs uses \(status.tasksDirectory), not \(wanted).",
                hint: "Start it again with the new setting, and then this.")
        }
        return status
    }

    // MARK: Sign-in and first sync

    /// Signs in, unless that was done before. Returns whether an account is there.
    private func signIn(_ status: DaemonStatus) async throws -> Bool {
        let url = arguments.argument("URL")
        let email = arguments.value("email")
        if let account = status.account, status.state != .needsSignIn, arguments.value("code") == nil,
            url.map({ isAddress($0, of: account) }) ?? true,
            email.map({ $0.lowercased() == account.email }) ?? true
        {
            say("account", "\(account.email ?? "anonymous") on \(account.server), signed in already")
            return true
        }
        guard let url = url ?? context.terminal.ask("Address of the server (empty: none yet): "), !url.isEmpty else {
            return false
        }
        let account = try await SignIn(context: context).run(request(url, email))
        say("account", "\(account.email ?? "anonymous") on \(account.server)")
        return true
    }

    private func isAddress(_ url: String, of account: AccountSummary) -> Bool {
        var url = url.lowercased()
        while url.hasSuffix("/") { url.removeLast() }
        return url == account.server.lowercased()
    }

    private func request(_ url: String, _ email: String?) throws -> SignInRequest {
        let (code, invitation) = (arguments.value("code"), arguments.value("invite"))
        var email = email
        if email == nil, code == nil {
            let answer = context.terminal.ask("E-mail address of your account (empty: an anonymous one): ")
            email = answer.flatMap { $0.isEmpty ? nil : $0 }
        }
        let creates = email != nil && (arguments.has("create") || invitation != nil)
        var password: String?
        if code != nil {
            password = try SignIn(context: context).newPassword("New password")
        } else if let email {
            let prompt = "Password for \(email)"
            password =
                try creates ? SignIn(context: context).newPassword(prompt) : SignIn(context: context).password(prompt)
        }
        return SignInRequest(
            server: url, email: email, password: password, create: creates, invitation: invitation, code: code,
            merges: arguments.has("merge"))
    }

    private func firstSync(_ timeout: Int) async throws -> ExitStatus {
        let reporting = Task { await StandstillReport(context.service, context.terminal).run() }
        defer { reporting.cancel() }
        let status = try await context.service.sync(wait: true, timeout: .seconds(timeout))
        say("sync", "\(Count(status.taskCount, "task")), all synced")
        return .success
    }
}
