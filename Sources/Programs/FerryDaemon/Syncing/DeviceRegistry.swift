import DocumentClient
import DocumentModel

/// The machines of an account, as `devices/{user}.{replica}` tells, or `devices/{replica}` of
/// machines that were there before: `userId`, `name`, `version`, `createdTime`, `lastSeenTime`.
/// They give the replicas that histories name a name that people know.
struct DeviceRegistry: Sendable {
    struct Device: Sendable, Hashable {
        /// Of its replica.
        let id: String
        let name: String
        let version: String?
        /// The remote's time.
        let lastSeen: Timestamp?
    }

    private let client: DocumentDatabase
    private let userID: String
    private let name: String

    private static let collection = "devices"
    /// A machine says this often that it is still there.
    private static let interval = Duration.seconds(3600)

    init(client: DocumentDatabase, userID: String, name: String) {
        self.client = client
        self.userID = userID
        self.name = name
    }

    /// This machine's replica.
    var ownID: String {
        get async throws { try await client.reading { $0.replicaID } }
    }

    /// Keeps all devices' documents fresh here, and says once that this machine is there, if it has not for an hour.
    func begin() async throws {
        let database = try await client.reading { $0.databaseName }
        try await client.keep([query(in: database)])
        let own = try await ownID
        let known = try await all().first { $0.id == own }
        // By this machine's clock, but only to be spared a write; nothing is decided by it.
        let isRecent = known?.lastSeen.map { abs(Clocks.wallSeconds() - $0.seconds) < 3600 } ?? false
        if known?.name != name || known?.version != DaemonTool.version || !isRecent { try await announce() }
    }

    /// Says so again each hour until cancelled.
    func run() async throws {
        while true {
            try await Task.sleep(for: Self.interval)
            try await announce()
        }
    }

    private func announce() async throws {
        let (userID, deviceName) = (userID, name)
        try await client.transaction { transaction in
            func name(_ id: String) throws -> DocumentName {
                try DocumentName(database: transaction.databaseName, collection: Self.collection, id: id)
            }
            // Nobody else can make documents with ids that begin with the user's.
            var document = try name("\(userID).\(transaction.replicaID)")
            let former = try name(transaction.replicaID)
            if try transaction.document(former).exists { document = former }
            // An hour's news that is still to be sent needs no second.
            guard try transaction.pending(document).isEmpty else { return }
            var times = ["lastSeenTime"]
            if try !transaction.document(document).exists { times.append("createdTime") }
            try transaction.append(
                .merge(
                    document,
                    [
                        FieldPath(key: "userId"): .string(userID), FieldPath(key: "name"): .string(deviceName),
                        FieldPath(key: "version"): .string(DaemonTool.version),
                    ], transforms: times.map { FieldTransform(FieldPath(key: $0), .serverTimestamp) }))
        }
    }

    /// In order of names.
    func all() async throws -> [Device] {
        let query = query(in: try await client.reading { $0.databaseName })
        let userID = userID
        return try await client.documents(query).map { document in
            let fields = document.fields(pendingTimes: .previous)
            let id = document.name.id
            return Device(
                id: id.hasPrefix("\(userID).") ? String(id.dropFirst(userID.count + 1)) : id,
                name: fields["name"]?.stringValue ?? "", version: fields["version"]?.stringValue,
                lastSeen: fields["lastSeenTime"]?.timestampValue)
        }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    private func query(in database: DatabaseName) -> Query {
        Query(
            parent: ParentName(database), collectionID: Self.collection,
            filter: .field(FieldPath(key: "userId"), .equal, .string(userID)))
    }
}

/// What to call the device of a replica.
struct DeviceNames: Sendable {
    private let names: [String: String]
    private let own: String

    init(_ devices: [DeviceRegistry.Device], own: String) {
        names = Dictionary(devices.map { ($0.id, $0.name) }, uniquingKeysWith: { $1 })
        self.own = own
    }

    func name(_ replica: String?) -> String {
        guard let replica else { return "another program" }
        if let name = names[replica], !name.isEmpty { return name }
        return replica == own ? "this machine" : "device \(replica.prefix(8))"
    }
}
