import CommandLineTool
import Glibc
import ServerData
import Synchronization
import SystemIO
import SystemService

extension Command {
    static let run: Command = Command(
        "run", summary: "serves until it is stopped",
        discussion: """
            When it is ready it prints one line, 'ready URL documents HOST:PORT', and tells systemd. The URL is the one for 'ferry
            setup' and 'ferry login' on each machine. SIGTERM and SIGINT stop it in good order within 5 seconds.
            """,
        options: ConfigurationReader.options,
        action: { arguments in
            try await ServerRun(arguments).run()
            return .success
        })
}

/// One run of the server, from its configuration to its end.
private struct ServerRun {
    private let arguments: ParsedArguments
    private let configuration: ServerConfiguration
    private let logger: Logger
    private let level: LevelSetting

    init(_ arguments: ParsedArguments) throws {
        self.arguments = arguments
        configuration = try ConfigurationReader(arguments).configuration()
        let level = LevelSetting(configuration.logLevel)
        self.level = level
        logger = Logger(label: "server", level: .debug) { record in
            if record.level >= level.value { StandardErrorLog.shared.write(record) }
        }
    }

    func run() async throws {
        // Keep freed memory for the next request; otherwise its pages are returned and requested
        // again.
        ProcessMemory.limitArenas(to: Int32(clamping: 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        ProcessMemory.mapAllocations(from: 2 << 20)
        ProcessMemory.keepFree(upTo: 8 << 20)
        Signal.ignoreBrokenPipes()
        umask(0o077)
        FileDescriptor.raiseLimit()
        let signals = try SignalEvents([.terminate, .interrupt, .hangup])
        let supervisor = Supervisor()
        var collections = try CollectionService(configuration, logger: logger)
        let server = try await Server.start(configuration, logger: logger)
        collections.reclaimSpace = server.reclaimSpace
        collections.removeDeletedAccounts = server.removeDeletedAccounts
        let (requests, request) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        collections.requests = requests
        let group = ServiceGroup(
            [
                .init("data", DataService(server: server, supervisor: supervisor, logger: logger) { request.yield() }),
                .init("memory", MemoryService()),
                .init("objects", collections, stopLimit: .seconds(3)),
                .init("http", WebService(server: server), stopLimit: .seconds(3)),
                .init("documents", DocumentService(server: server), stopLimit: .seconds(3)),
            ]
                + [configuration.mail].compactMap(\.self).map {
                    .init("mail", server.morningMails(through: $0, logger), stopLimit: .seconds(3))
                },
            logger: logger, supervisor: supervisor,
            onStuck: { _ in _exit(1) },
            onReload: {
                // `ferry-server objects gc` requests this. The reload does not wait for it.
                request.yield()
                try await reload(server)
            })
        let endpoints = server.endpoints
        let place = "\(endpoints.loginURL) documents \(endpoints.published?.documents.address ?? endpoints.documents)"
        Console().print("ready \(place)")
        supervisor.ready(status: "Serving \(place)")
        logger.notice(
            "ready",
            [
                "url": endpoints.loginURL, "http": "\(endpoints.http)", "documents": "\(endpoints.documents)",
                "data": configuration.data,
            ])
        if configuration.published != nil, configuration.trustedProxies.networks.isEmpty {
            logger.notice(
                "limits count all clients of a proxy as one, unless --trusted-proxy names it",
                ["url": endpoints.url])
        }
        if configuration.isEmulator { logger.warning("in emulator mode all local users are administrators") }
        try await group.run(signals: signals)
        logger.notice("stopped")
    }

    /// Applies the settings that can change while the server runs, and logs those that cannot.
    private func reload(_ server: Server) async throws {
        try await server.reload()
        var new = try ConfigurationReader(arguments).configuration()
        level.value = new.logLevel
        new.logLevel = configuration.logLevel
        var changed = new.names(differingFrom: configuration)
        // A renewed certificate has the same path.
        if let tls = new.tls, tls == configuration.tls, try Certificate(tls) != server.certificate {
            changed.append("the certificate in \(tls.certificate)")
        }
        guard changed.isEmpty else {
            logger.warning(
                "reloaded accounts, keys and log-level; a restart of the server is needed for the rest",
                ["changed": changed.joined(separator: ", ")])
            return
        }
        logger.notice("reloaded accounts, keys and configuration")
    }
}

/// The lowest level that is logged, which a reload may change.
private final class LevelSetting: Sendable {
    private let level: Atomic<Int>

    init(_ level: LogLevel) { self.level = Atomic(level.rawValue) }

    var value: LogLevel {
        get { LogLevel(rawValue: level.load(ordering: .relaxed)) ?? .info }
        set { level.store(newValue.rawValue, ordering: .relaxed) }
    }
}
