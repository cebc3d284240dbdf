import CommandLineTool
import Glibc
import IdentityServer
import ServerData
import SystemIO

extension Command {
    static let setup: Command = Command(
        "setup", summary: "sets up a server: address, TLS, first account, service",
        discussion: """
            Asks on a terminal for what the options do not say, and may be run again: what is done already stays. It ends with the
            command for each machine. With a certificate of its own the server listens on all addresses, without one a proxy on
            this machine serves the https:// address, as in examples/nginx.conf. Without an address only this machine reaches it.

                sudo ferry-server setup https://tasks.example.org --email me@example.org
                sudo ferry-server setup https://nas.home:7441 --tls-cert cert.pem --tls-key key.pem --email me@example.org

            As the service it writes /etc/ferry-server.yaml, and enables and starts ferry-server.service. With --no-service it
            writes the file that --config names, and prints the command that runs the server.
            """,
        group: "Administration",
        arguments: [Argument("URL", .optional, summary: "the address for machines, as https://tasks.example.org")],
        options: [
            Option("tls-cert", value: "FILE", summary: "certificate chain, PEM", completion: .files),
            Option("tls-key", value: "FILE", summary: "the certificate's private key, PEM", completion: .files),
            Option("insecure", summary: "serve other machines without TLS"),
            Option("email", value: "ADDRESS", summary: "the first account"),
            Option("password-stdin", summary: "set its password now, read from standard input"),
            Option("invite", summary: "print an invitation instead of making an account"),
            .expires(default: "7d"), Option("no-service", summary: "leave systemd alone"), .data, .config,
        ],
        action: { try await ServerSetup($0).run() })
}

/// One run of `ferry-server setup`.
private struct ServerSetup {
    private let arguments: ParsedArguments
    private let console = Console()
    private let usesService: Bool
    private let file: String
    /// The data directory; nil: that of the service.
    private let data: String?

    init(_ arguments: ParsedArguments) throws {
        self.arguments = arguments
        usesService = !arguments.has("no-service") && !arguments.has("data")
        guard usesService else {
            let file = arguments.value("config") ?? "ferry-server.yaml"
            self.file = file
            let known = FileSystem.exists(file) ? ["--config", file] : []
            let named = arguments.value("data").map { ["--data", $0] } ?? []
            data = try Self.absolute(ConfigurationReader(Self.parsed(["run"] + known + named)).dataDirectory())
            return
        }
        guard ServiceManager.hasUnit else {
            throw ServerError(
                .failed,
                "systemd, or the unit \(ServiceManager.unit), is not here. Install the package, or give --no-service and "
                    + "--data DIR.")
        }
        guard geteuid() == 0 else {
            throw ServerError(.failed, "Setting up the service needs root: sudo ferry-server setup")
        }
        (file, data) = (ConfigurationReader.systemFile, nil)
    }

    /// The arguments of another command line, for what reads them.
    private static func parsed(_ words: [String]) throws -> ParsedArguments {
        guard case .run(_, let arguments) = try FerryServerTool.command.parse(words) else {
            throw ServerError(.failed, "not a command: \(words)")
        }
        return arguments
    }

    func run() async throws -> ExitStatus {
        let loginURL = try configure()
        let account = try await firstAccount()
        console.print("\nOn each machine:\n")
        switch account {
        case .code(let email, let code):
            console.print("    ferry setup \(loginURL) --code \(code)      the first, which sets the password")
            console.print("    ferry setup \(loginURL) --email \(email)      the others")
        case .password(let email): console.print("    ferry setup \(loginURL) --email \(email)")
        case .invitation(let code): console.print("    ferry setup \(loginURL) --email ADDRESS --invite \(code)")
        case nil: console.print("    ferry setup \(loginURL) --email ADDRESS")
        }
        if !usesService { console.print("\nRun the server with:\n\n    ferry-server run --config \(file)") }
        return .success
    }

    // MARK: Address and service

    /// Writes the configuration, unless it is there and nothing else was asked for, and starts the service. Returns the
    /// address for machines.
    private func configure() throws -> String {
        let asked =
            arguments.argument("URL") != nil || ["tls-cert", "tls-key", "insecure"].contains(where: arguments.has)
        guard asked || !FileSystem.exists(file) else {
            console.print("configuration  \(file) is there already")
            try startService(hasChanged: false)
            return try knownURL()
        }
        let plan = try plan()
        if let tls = plan.tls { _ = try Certificate(tls) }
        let dropIn = usesService ? plan.dropIn : nil
        let hasChanged = try replace(file, with: plan.configuration(usesCredentials: dropIn != nil))
        console.print("configuration  \(file) \(hasChanged ? "written" : "is there already")")
        var unitHasChanged = false
        if usesService {
            if let dropIn {
                try FileSystem.makeDirectories(FileSystem.split(ServiceManager.dropIn).parent, mode: 0o755)
                unitHasChanged = try replace(ServiceManager.dropIn, with: dropIn)
            } else {
                unitHasChanged = try FileSystem.remove(ServiceManager.dropIn)
            }
            if unitHasChanged { try ServiceManager.systemctl("daemon-reload") }
        }
        try startService(hasChanged: hasChanged || unitHasChanged)
        console.print("address        \(plan.loginURL)")
        return plan.loginURL
    }

    private func plan() throws -> SetupPlan {
        var url = arguments.argument("URL")
        var tls: ServerConfiguration.TLS?
        switch (arguments.value("tls-cert"), arguments.value("tls-key")) {
        case (let certificate?, let key?):
            tls = try .init(certificate: Self.absolute(certificate), key: Self.absolute(key))
        case (nil, nil): break
        default: throw UsageError("--tls-cert and --tls-key go together.", path: ["setup"])
        }
        if url == nil {
            url = console.ask("Address for your machines, as https://tasks.example.org (empty: only this machine): ")
        }
        if tls == nil, let url, url.hasPrefix("https://"),
            let certificate = console.ask("File with its certificate, PEM (empty: a proxy here has it): "),
            let key = console.ask("File with the private key, PEM: ")
        {
            tls = try .init(certificate: Self.absolute(certificate), key: Self.absolute(key))
        }
        return try SetupPlan(url: url, tls: tls, allowsPlaintext: arguments.has("insecure"), data: data)
    }

    private func startService(hasChanged: Bool) throws {
        guard usesService else { return }
        let wasActive = ServiceManager.isActive
        try ServiceManager.systemctl("--quiet", "enable", ServiceManager.unit)
        if hasChanged || !wasActive { try ServiceManager.systemctl("restart", ServiceManager.unit) }
        console.print("service        \(ServiceManager.unit) runs, and starts with this machine")
    }

    /// The address of the configuration that is there.
    private func knownURL() throws -> String {
        let text = String(decoding: try FileSystem.read(file, limit: 1 << 20), as: UTF8.self)
        if let url = SetupPlan.loginURL(in: text) { return url }
        let words = ["run", "--config", file, "--data", data ?? "/var/lib/ferry-server"]
        let configuration = try ConfigurationReader(Self.parsed(words)).configuration()
        return ServerEndpoints(
            http: configuration.http, documents: configuration.documents, isSecure: configuration.tls != nil,
            published: configuration.published, project: configuration.project
        ).loginURL
    }

    /// Writes a file that all users can read, unless it has this text already. The previous file is
    /// kept as `PATH.old`.
    private func replace(_ path: String, with text: String) throws -> Bool {
        let old = try FileSystem.readIfPresent(path, limit: 1 << 20)
        guard old != Array(text.utf8) else { return false }
        if let old { try FileSystem.replace("\(path).old", with: old, mode: 0o644) }
        try FileSystem.replace(path, with: Array(text.utf8), mode: 0o644)
        return true
    }

    private static func absolute(_ path: String) throws -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let directory = getcwd(nil, 0) else { throw ServerError(.failed, "The working directory is gone.") }
        defer { free(directory) }
        return "\(String(cString: directory))/\(path)"
    }

    // MARK: The first account

    private enum FirstAccount {
        case code(email: String, String)
        case password(email: String)
        case invitation(String)
    }

    /// Makes the account or the invitation; nil where neither was asked for and accounts exist.
    private func firstAccount() async throws -> FirstAccount? {
        let expires = try arguments.expiry(default: "7d", path: ["setup"])
        if let data { try FileSystem.makeDirectories(data, mode: 0o700) }
        let administered = try Self.parsed(["user", "list"] + (data.map { ["--data", $0] } ?? []))
        var result: FirstAccount?
        _ = try await Administration.run(administered) { identity in
            let known = try await identity.accounts.list().filter { $0.email != nil }
            var email = arguments.value("email")
            if email == nil, known.isEmpty, !arguments.has("invite") {
                email = console.ask("E-mail address of the first account (empty: print an invitation): ")
            }
            if let email, !arguments.has("invite") {
                let account = known.first { $0.email == email.lowercased() }
                result = try await self.account(email, known: account, expires, identity.accounts)
            } else if known.isEmpty || arguments.has("invite") {
                let code = try await identity.accounts.invite(uses: 1, expiresAt: expires, now: WallClock.seconds())
                result = .invitation(code)
            }
        }
        return result
    }

    private func account(
        _ email: String, known: Account?, _ expires: Int64, _ accounts: Accounts
    ) async throws -> FirstAccount {
        if let known {
            console.print("account        \(email) is there already")
            guard !known.hasPassword else { return .password(email: email) }
            return .code(email: email, try await accounts.passwordCode(for: known, expiresAt: expires))
        }
        guard arguments.has("password-stdin") else {
            let (_, code) = try await accounts.add(email: email, expiresAt: expires, now: WallClock.seconds())
            console.print("account        \(email) created")
            return .code(email: email, code)
        }
        _ = try await accounts.add(email: email, password: console.readLineOfInput(), now: WallClock.seconds())
        console.print("account        \(email) created")
        return .password(email: email)
    }
}
