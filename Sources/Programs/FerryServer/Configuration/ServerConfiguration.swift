import IdentityProtocol
import IdentityServer
import SystemIO
import SystemService

/// How a server runs.
struct ServerConfiguration: Sendable, Hashable {
    /// PEM files of the certificate chain and its private key.
    struct TLS: Sendable, Hashable {
        var certificate: String
        var key: String
    }

    /// Holds everything the server keeps.
    var data: String
    var documents = ListenAddress(host: "127.0.0.1", port: 7440)
    var http = ListenAddress(host: "127.0.0.1", port: 7441)
    var tls: TLS?
    /// Where clients reach the server, if not at the addresses that it listens on: of a proxy before it.
    var published: PublishedAddresses?
    /// Proxies whose word on a client's address is taken.
    var trustedProxies = TrustedProxies()
    /// Behaves as Google's emulator does for clients with FIRESTORE_EMULATOR_HOST: `Bearer owner`
    /// is an administrator, ID tokens need no signature, databases appear on first use. On loopback
    /// only.
    var isEmulator = false
    /// Whether other machines may be served without TLS.
    var allowsPlaintext = false
    /// The audience of ID tokens and the project of the database.
    var project = "ferry"
    /// Where attachments are kept, if not here.
    var objects: ForeignBucket?
    /// A file with keys for that bucket; nil: nothing is removed from it.
    var objectsKeys: String?
    /// How long what no document needs stays put aside before it is removed; see `CollectionTerms`.
    var objectsGraceDays = 30
    static let objectsGraceRange = 2...3650
    /// Who may make an account; nil: see `signUp`.
    var signUpSetting: SignUpPolicy?
    /// What an account may use unless `ferry-server user quota` says something else.
    var quota = AccountQuota()
    /// A file of security rules for documents; nil for the built-in rules.
    var rules: String?
    /// Whether the server starts although the system's clock is more than a year after the newest commit.
    var acceptsClock = false
    var logLevel = LogLevel.info

    /// Who may make an account: by invitation where others than this machine's users can reach the server.
    var signUp: SignUpPolicy { signUpSetting ?? (isEmulator || !isReachableFromElsewhere ? .open : .invite) }

    /// The names of the settings that differ from those of another configuration.
    func names(differingFrom other: ServerConfiguration) -> [String] {
        [
            ("data", data == other.data), ("documents", documents == other.documents), ("http", http == other.http),
            ("tls-cert", tls?.certificate == other.tls?.certificate), ("tls-key", tls?.key == other.tls?.key),
            ("url", published?.web == other.published?.web),
            ("documents-url", published?.documents == other.published?.documents),
            ("trusted-proxy", trustedProxies == other.trustedProxies), ("emulator", isEmulator == other.isEmulator),
            ("insecure", allowsPlaintext == other.allowsPlaintext), ("project", project == other.project),
            ("objects, objects-region", objects == other.objects), ("objects-keys", objectsKeys == other.objectsKeys),
            ("objects-grace", objectsGraceDays == other.objectsGraceDays), ("sign-up", signUp == other.signUp),
            ("quota-objects, quota-documents or quota-requests", quota == other.quota),
            ("log-level", logLevel == other.logLevel),
        ].filter { !$0.1 }.map(\.0)
    }

    private var isReachableFromElsewhere: Bool {
        [http, documents].contains { !$0.isLoopback } || isBehindProxy
    }

    /// Whether a proxy serves it to others, so that requests from this machine are not its users' own.
    var isBehindProxy: Bool { published.map { !$0.web.address.isLoopback } ?? false }
}

/// Where clients reach the two ports of a server that stands behind a proxy; both may be one address.
struct PublishedAddresses: Sendable, Hashable {
    let web: WebAddress
    let documents: WebAddress
}
