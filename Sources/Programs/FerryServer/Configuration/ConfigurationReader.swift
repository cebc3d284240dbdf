import CommandLineTool
import Glibc
import IdentityProtocol
import IdentityServer
import SMTPClient
import ServerData
import SystemIO
import SystemService
import YAML

/// Reads the configuration from the command line and a YAML file. Every setting has the same name
/// in both; the command line takes precedence.
struct ConfigurationReader {
    /// The flags that were given.
    private let flags: ParsedArguments
    private let file: YAMLConfiguration?
    private let path: String?

    static let options = [
        .data,
        Option("documents", value: "HOST:PORT", summary: "the address for documents (default 127.0.0.1:7440)"),
        Option("http", value: "HOST:PORT", summary: "the address for objects and accounts (default 127.0.0.1:7441)"),
        Option("metrics", value: "HOST:PORT", summary: "an address on loopback for metrics in Prometheus's format"),
        Option("tls-cert", value: "FILE", summary: "certificate chain, PEM", completion: .files),
        Option("tls-key", value: "FILE", summary: "the certificate's private key, PEM", completion: .files),
        Option(
            "url", value: "URL",
            summary: "the URL of a proxy in front of the server: https://tasks.example.org"),
        Option("documents-url", value: "URL", summary: "the URL of the documents at the proxy (default: --url)"),
        Option(
            "trusted-proxy", value: "CIDR", isRepeatable: true,
            summary: "network of a proxy to trust for X-Forwarded-For and Forwarded; may be repeated"),
        .project,
        .objects,
        Option("objects-region", value: "REGION", summary: "the region of that bucket (default us-east-1)"),
        .objectsKeys,
        Option(
            "sign-up", value: "WHO",
            summary: "who may create an account: open, invite or closed (default invite; open if only this machine "
                + "can reach the server)", completion: .words(SignUpPolicy.allCases.map(\.rawValue))),
        quotaOptions[0], quotaOptions[1], quotaOptions[2],
        Option(
            "insecure", summary: "serve other machines without TLS, where the network itself is private or encrypted"),
        Option("emulator", summary: "behave like Google's emulator; on loopback only"),
        Option(
            "objects-grace", value: "DAYS",
            summary: "days for which unused data of attachments is kept (default 30; 2 to 3650)"),
        .database,
        .databasePassword,
        Option(
            "rules", value: "FILE",
            summary: "security rules for documents, in place of the built-in ones; SIGHUP reads them again",
            completion: .files),
        Option(
            "openid", value: "NAME=ISSUER,CLIENT[,FILE[,TEAM,KEY]]", isRepeatable: true,
            summary:
                "an OpenID provider to sign in with, the id of this server's client there, and a file with its secret, "
                + "or Apple's key with the ids of team and key; may be repeated"),
        Option("smtp", value: "URL", summary: "a server for mails: smtps://USER@HOST:PORT or smtp://HOST:PORT"),
        Option("smtp-from", value: "ADDRESS", summary: "the sender's address of its mails"),
        Option(
            "smtp-password", value: "FILE", summary: "a file with the password at the mail server", completion: .files),
        Option("accept-clock", summary: "start although the clock is more than a year after the newest commit"),
        Option(
            "log-level", value: "LEVEL", summary: "lowest level that is logged (default info)",
            completion: .words(LogLevel.allCases.map(\.name))),
        .config,
    ]

    static let quotaOptions = [
        Option("quota-objects", value: "SIZE", summary: "bytes of attachments an account may keep (default 50G)"),
        Option("quota-documents", value: "COUNT", summary: "documents an account may keep (default 1000000)"),
        Option("quota-requests", value: "COUNT", summary: "requests an account may make per second (default 5000)"),
    ]

    /// The keys of the file: all options except those that apply to a single start.
    private static let keys = options.map(\.name).filter { $0 != "config" && $0 != "accept-clock" }

    /// The configuration file of the system's server, which `ferry-server setup` writes.
    static let systemFile = "/etc/ferry-server.yaml"

    /// Reads the file that `--config` names, else that of the system's server if the command concerns it: systemd has
    /// set STATE_DIRECTORY, or root names no other data directory.
    ///
    /// - Throws: `ServerError` with `.configuration`.
    init(_ flags: ParsedArguments) throws {
        self.flags = flags
        let concernsSystem = ProcessEnvironment["STATE_DIRECTORY"] != nil || getuid() == 0 && !flags.has("data")
        path =
            flags.value("config")
            ?? (concernsSystem && FileSystem.exists(Self.systemFile) ? Self.systemFile : nil)
        guard let path else {
            file = nil
            return
        }
        do {
            let file = try YAMLConfiguration(parsing: try FileSystem.read(path, limit: 1 << 20))
            try file.allow(Self.keys)
            self.file = file
        } catch {
            throw Self.unusable(path, error)
        }
    }

    /// Returns the whole configuration.
    ///
    /// - Throws: `ServerError` with `.configuration`.
    func configuration() throws -> ServerConfiguration { try configuration(in: try dataDirectory()) }

    /// Returns the configuration for a command that opens a server's data itself.
    func configuration(administering path: String) throws -> ServerConfiguration {
        var configuration = ServerConfiguration(data: path)
        configuration.project = try project() ?? configuration.project
        return configuration
    }

    /// Returns the URL of the proxy in front of the server; nil without one.
    func publishedURL() throws -> String? { try published()?.web.description }

    private func configuration(in directory: String) throws -> ServerConfiguration {
        var configuration = ServerConfiguration(data: directory)
        configuration.documents = try address("documents") ?? configuration.documents
        configuration.http = try address("http") ?? configuration.http
        configuration.metrics = try address("metrics")
        if let address = configuration.metrics, !address.isLoopback {
            throw invalid(
                "metrics", "is for this machine only, so it takes an address like 127.0.0.1:7442, not \(address)")
        }
        configuration.tls = try tls()
        configuration.published = try published()
        configuration.trustedProxies = try trustedProxies()
        configuration.project = try project() ?? configuration.project
        configuration.isEmulator = try flag("emulator")
        configuration.allowsPlaintext = try flag("insecure")
        configuration.acceptsClock = flags.has("accept-clock")
        configuration.objects = try foreignBucket()
        configuration.objectsKeys = try value("objects-keys")
        if configuration.objectsKeys != nil, configuration.objects == nil {
            throw invalid("objects-keys", "needs objects beside it")
        }
        if let days = try value("objects-grace") {
            guard let days = Int(days), ServerConfiguration.objectsGraceRange.contains(days) else {
                throw invalid("objects-grace", "takes whole days from 2 to 3650, not '\(days)'")
            }
            configuration.objectsGraceDays = days
        }
        if let name = try value("log-level") {
            guard let level = LogLevel(name) else {
                let names = LogLevel.allCases.map(\.name).joined(separator: ", ")
                throw invalid("log-level", "is one of \(names), not '\(name)'")
            }
            configuration.logLevel = level
        }
        if let name = try value("sign-up") {
            guard let policy = SignUpPolicy(rawValue: name) else {
                throw invalid("sign-up", "is one of open, invite, closed, not '\(name)'")
            }
            configuration.signUpSetting = policy
        }
        configuration.quota = try quota()
        configuration.rules = try value("rules")
        configuration.database = try database()
        do { configuration.providers = try providers() } catch let error as UnusableClientSecretKey {
            throw ServerError(.configuration, error.description, cause: error)
        }
        configuration.mail = try mail()
        for address in [configuration.documents, configuration.http] where configuration.isEmulator {
            guard address.isLoopback else {
                throw invalid(
                    "emulator",
                    "gives everyone access, so it is for loopback only, not \(address). Leave it out, or listen on 127.0.0.1"
                )
            }
        }
        guard !configuration.isEmulator || configuration.published == nil else {
            throw invalid("emulator", "gives everyone access, so no proxy may lead to it. Leave out url or this")
        }
        for (name, address) in [("http", configuration.http), ("documents", configuration.documents)]
        where configuration.tls == nil && !address.isLoopback && !configuration.allowsPlaintext {
            throw invalid(
                name,
                "would serve other machines without TLS on \(address): passwords could be read on the way. Name a certificate with "
                    + "tls-cert and tls-key, or listen on loopback behind a proxy and name that with url; insecure allows it"
            )
        }
        let ports = [configuration.documents, configuration.http]
        guard ports[0] != ports[1] || ports[0].port == 0 else {
            throw invalid("documents", "and http need a port each; both are \(ports[0])")
        }
        return configuration
    }

    /// Returns the data directory for an administration command: for root, the one of the unit in
    /// `systemd/`, because root's home has no server's data; otherwise `dataDirectory`.
    func administeredDirectory() throws -> String {
        let unit = "/var/lib/ferry-server"
        // The user who runs the command; the process may already have switched to the server's
        // user.
        if getuid() == 0, try value("data") == nil, ProcessEnvironment["STATE_DIRECTORY"] == nil,
            FileSystem.exists(unit)
        {
            return unit
        }
        return try dataDirectory()
    }

    /// Returns `--data`, or systemd's STATE_DIRECTORY, or a directory in the user's home.
    func dataDirectory() throws -> String {
        if let path = try value("data") {
            guard !path.isEmpty else { throw invalid("data", "names a directory") }
            return path
        }
        if let path = ProcessEnvironment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(path) }
        if let path = ProcessEnvironment["XDG_DATA_HOME"], path.hasPrefix("/") { return "\(path)/ferry-server" }
        guard let home = ProcessEnvironment["HOME"], home.hasPrefix("/") else {
            throw ServerError(
                .configuration, "There is no home directory for the data. Name a directory with --data DIR.")
        }
        return "\(home)/.local/share/ferry-server"
    }

    /// Returns the quota of accounts for which no other is set.
    func quota() throws -> AccountQuota {
        var quota = AccountQuota()
        if let text = try value("quota-objects") {
            guard let bytes = Amount.bytes(text) else {
                throw invalid("quota-objects", "takes bytes, such as 500M or 20G, not '\(text)'")
            }
            quota.objectBytes = bytes
        }
        func count(_ name: String) throws -> Int64? {
            guard let text = try value(name) else { return nil }
            guard let count = Amount.count(text), count > 0 else {
                throw invalid(name, "takes a number from 1, not '\(text)'")
            }
            return count
        }
        quota.documents = try count("quota-documents") ?? quota.documents
        quota.requestsPerSecond = try count("quota-requests") ?? quota.requestsPerSecond
        return quota
    }

    private func address(_ name: String) throws -> ListenAddress? {
        guard let text = try value(name) else { return nil }
        guard let address = ListenAddress(text) else {
            throw invalid(name, "takes HOST:PORT, such as 127.0.0.1:7440 or [::1]:7440, not '\(text)'")
        }
        return address
    }

    private func tls() throws -> ServerConfiguration.TLS? {
        switch (try value("tls-cert"), try value("tls-key")) {
        case (let certificate?, let key?): return ServerConfiguration.TLS(certificate: certificate, key: key)
        case (nil, nil): return nil
        case (nil, _): throw invalid("tls-key", "needs tls-cert beside it")
        case (_, nil): throw invalid("tls-cert", "needs tls-key beside it")
        }
    }

    private func published() throws -> PublishedAddresses? {
        guard let web = try webAddress("url") else {
            if try value("documents-url") != nil { throw invalid("documents-url", "needs url beside it") }
            return nil
        }
        return PublishedAddresses(web: web, documents: try webAddress("documents-url") ?? web)
    }

    private func trustedProxies() throws -> TrustedProxies {
        let name = "trusted-proxy"
        let texts = flags.has(name) ? flags.values(name) : try inFile { try $0.strings(name) } ?? []
        return TrustedProxies(
            try texts.map { text in
                guard let network = IPNetwork(text) else {
                    throw invalid(
                        name, "takes an address or network like 127.0.0.1, 10.0.0.0/8 or 2001:db8::/32, not '\(text)'")
                }
                return network
            })
    }

    private func providers() throws -> [OpenIDConfiguration] {
        let name = "openid"
        let texts = flags.has(name) ? flags.values(name) : try inFile { try $0.strings(name) } ?? []
        let providers = try texts.map { text in
            guard let option = OpenIDOption(text),
                option.issuer.hasPrefix("https://") || Self.isLoopback(option.issuer)
            else {
                throw invalid(
                    name,
                    "takes NAME=ISSUER,CLIENT[,FILE[,TEAM,KEY]] with an issuer of https, such as "
                        + "home=https://id.example.org,ferry"
                )
            }
            let secret: ClientSecret? =
                switch option.proof {
                case .none: nil
                case .secret(let path): .text(try self.secret(path, of: name))
                case .key(let path, let team, let id): .signed(try ClientSecretKey(path: path, team: team, id: id))
                }
            return OpenIDConfiguration(
                name: option.name, issuer: option.issuer, clientID: option.clientID, secret: secret)
        }
        guard Set(providers.map(\.name)).count == providers.count else { throw invalid(name, "has a name twice") }
        return providers
    }

    private static func isLoopback(_ url: String) -> Bool {
        url.hasPrefix("http://")
            && (WebAddress(String(url.split(separator: "/").prefix(2).joined(separator: "//")))?.address.isLoopback
                ?? false)
    }

    private func mail() throws -> SMTPClient.Configuration? {
        guard let text = try value("smtp") else {
            for name in ["smtp-from", "smtp-password"] where try value(name) != nil {
                throw invalid(name, "needs smtp beside it")
            }
            return nil
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, ["smtp:", "smtps:"].contains(parts[0]), parts[1].isEmpty,
            let at = Optional(parts[2].lastIndex(of: "@"))
        else { throw invalid("smtp", "takes a URL such as smtps://USER@mail.example.org:465") }
        let user = at.map { String(parts[2][..<$0]) }
        let host = at.map { String(parts[2][parts[2].index(after: $0)...]) } ?? parts[2]
        // A password on the command line could be read by every user of the machine.
        guard user?.contains(":") != true, !host.isEmpty else {
            throw invalid("smtp", "takes a URL without a password; name a file with smtp-password")
        }
        guard let sender = try value("smtp-from"), sender.contains("@") else {
            throw invalid("smtp-from", "must name the sender's address beside smtp")
        }
        return SMTPClient.Configuration(
            url: "\(parts[0])//\(host)", sender: sender, user: user,
            password: try value("smtp-password").map { try secret($0, of: "smtp-password") })
    }

    /// Reads a secret from the first line of a file.
    private func secret(_ path: String, of name: String) throws -> String {
        do {
            let text = String(decoding: try FileSystem.read(path, limit: 16 << 10), as: UTF8.self)
            return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
        } catch { throw ServerError(.configuration, "The secret of \(name) cannot be read: \(error).", cause: error) }
    }

    private func foreignBucket() throws -> ForeignBucket? {
        guard let text = try value("objects") else {
            if try value("objects-region") != nil { throw invalid("objects-region", "needs objects beside it") }
            return nil
        }
        guard let bucket = ForeignBucket(text, region: try value("objects-region") ?? ServerEndpoints.region) else {
            // The message does not repeat the value, because it may contain keys.
            throw invalid("objects", "takes the URL of a bucket, without keys, such as https://s3.example.org/tasks")
        }
        return bucket
    }

    /// Returns the database of documents and accounts; nil if the data directory has them.
    func database() throws -> DatabaseServer? {
        let password = try value("database-password")
        guard let url = try value("database") else {
            if password != nil { throw invalid("database-password", "needs database beside it") }
            return nil
        }
        do {
            return try DatabaseServer(
                url: url, passwordFile: password, credentialsDirectory: ProcessEnvironment["CREDENTIALS_DIRECTORY"])
        } catch {
            switch error {
            case .url: throw invalid("database", "takes a URL like postgres://ferry@db1.example.org,db2/ferry")
            case .passwordInURL:
                throw invalid(
                    "database",
                    "must not contain the password, which other users could see. Put it into a file, and name that with "
                        + "database-password")
            }
        }
    }

    private func webAddress(_ name: String) throws -> WebAddress? {
        guard let text = try value(name) else { return nil }
        guard let address = WebAddress(text) else {
            throw invalid(
                name, "takes a URL without a path like https://tasks.example.org or http://10.0.0.1:8080, not '\(text)'"
            )
        }
        return address
    }

    /// Returns the project id, checked loosely against Google's rules, because it occurs in
    /// resource names and URLs.
    private func project() throws -> String? {
        guard let text = try value("project") else { return nil }
        guard (1...100).contains(text.utf8.count),
            text.utf8.allSatisfy({ byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
            })
        else { throw invalid("project", "takes lower-case letters, digits and hyphens, not '\(text)'") }
        return text
    }

    private func value(_ name: String) throws -> String? {
        if let value = flags.value(name) { return value }
        return try inFile { try $0.string(name) }
    }

    private func flag(_ name: String) throws -> Bool {
        if flags.has(name) { return true }
        return try inFile { try $0.boolean(name) } ?? false
    }

    private func inFile<Value>(_ read: (YAMLConfiguration) throws -> Value?) throws -> Value? {
        guard let file, let path else { return nil }
        do { return try read(file) } catch { throw Self.unusable(path, error) }
    }

    private func invalid(_ name: String, _ why: String) -> ServerError {
        let place = flags.has(name) ? "--\(name)" : path.map { "\($0): \(name)" } ?? "--\(name)"
        return ServerError(.configuration, "\(place) \(why).")
    }

    private static func unusable(_ path: String, _ error: any Error) -> ServerError {
        switch error {
        case let error as YAMLError: ServerError(.configuration, "\(path), \(error).", cause: error)
        default: ServerError(.configuration, "The configuration file cannot be used: \(error).", cause: error)
        }
    }
}

extension Option {
    static let data = Option(
        "data", value: "DIR", summary: "directory for all data of the server", completion: .directories)
    static let project = Option("project", value: "ID", summary: "the project that clients name (default ferry)")
    static let objects = Option(
        "objects", value: "URL",
        summary:
            "bucket of another S3 store for attachments, to which machines have keys: https://HOST/BUCKET")
    static let objectsKeys = Option(
        "objects-keys", value: "FILE",
        summary: "the server's own keys for that bucket, to remove unused objects; in the format of ~/.aws/credentials",
        completion: .files)
    static let database = Option(
        "database", value: "URL",
        summary: "PostgreSQL for documents and accounts, which several servers may use: postgres://USER@HOST,HOST2/NAME"
    )
    static let databasePassword = Option(
        "database-password", value: "FILE",
        summary: "file with the password for it (default: systemd's credential database-password)", completion: .files)
    /// The options that name where documents and accounts are.
    static let place = [data, database, databasePassword, config]
    static let config = Option("config", value: "FILE", summary: "YAML file with the same settings", completion: .files)
}
