import DocumentClient
import DocumentModel
import TaskModel

/// The machines of an account, in documents `devices/{user}.{replica}`, or `devices/{replica}` for
/// older machines, with `userId`, `name`, `version`, `createdTime` and `lastSeenTime`.
///
/// They map the replica ids in histories to names that users know.
struct DeviceRegistry: Sendable {
    struct Device: Sendable, Hashable {
        /// The id of its replica.
        let id: ReplicaID
        let name: String
        let version: String?
        /// The remote's time of the last announcement.
        let lastSeen: Timestamp?
    }

    private let client: DocumentDatabase
    private let userID: UserID
    private let name: String

    private static let collection = "devices"
    /// The interval at which a machine announces itself.
    private static let interval = Duration.seconds(3600)

    init(client: DocumentDatabase, userID: UserID, name: String) {
        self.client = client
        self.userID = userID
        self.name = name
    }

    /// The id of this machine's replica.
    var ownID: ReplicaID {
        get async throws { ReplicaID(try await client.reading { $0.replicaID }) }
    }

    /// Keeps the documents of all devices up to date here, and announces this machine unless it did
    /// so within the last hour.
    func begin() async throws {
        let database = try await client.reading { $0.databaseName }
        try await client.keep([query(in: database)])
        let own = try await ownID
        let known = try await all().first { $0.id == own }
        // This machine's clock may be wrong, but it only decides whether to skip a write.
        let isRecent = known?.lastSeen.map { abs(Clocks.wallSeconds() - $0.seconds) < 3600 } ?? false
        if known?.name != name || known?.version != DaemonTool.version || !isRecent { try await announce() }
    }

    /// Announces this machine every hour until cancelled.
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
            // Other users cannot create documents with ids that start with this user's id.
            var document = try name("\(userID).\(transaction.replicaID)")
            let former = try name(transaction.replicaID)
            if try transaction.document(former).exists { document = former }
            // One unsent announcement is enough.
            guard try transaction.pending(document).isEmpty else { return }
            var times = ["lastSeenTime"]
            if try !transaction.document(document).exists { times.append("createdTime") }
            try transaction.append(
                .merge(
                    document,
                    [
                        FieldPath(key: "userId"): .string(userID.rawValue), FieldPath(key: "name"): .string(deviceName),
                        FieldPath(key: "version"): .string(DaemonTool.version),
                    ], transforms: times.map { FieldTransform(FieldPath(key: $0), .serverTimestamp) }))
        }
    }

    /// Returns the devices in order of their names.
    func all() async throws -> [Device] {
        let query = query(in: try await client.reading { $0.databaseName })
        let userID = userID
        return try await client.documents(query).map { document in
            let fields = document.fields(pendingTimes: .previous)
            let id = document.name.id
            return Device(
                id: ReplicaID(id.hasPrefix("\(userID).") ? String(id.dropFirst(userID.rawValue.count + 1)) : id),
                name: fields["name"]?.stringValue ?? "", version: fields["version"]?.stringValue,
                lastSeen: fields["lastSeenTime"]?.timestampValue)
        }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    private func query(in database: DatabaseName) -> Query {
        Query(
            parent: ParentName(database), collectionID: Self.collection,
            filter: .field(FieldPath(key: "userId"), .equal, .string(userID.rawValue)))
    }
}

/// The names of devices by replica.
struct DeviceNames: Sendable {
    private let names: [ReplicaID: String]
    private let own: ReplicaID

    init(_ devices: [DeviceRegistry.Device], own: ReplicaID) {
        names = Dictionary(devices.map { ($0.id, $0.name) }, uniquingKeysWith: { $1 })
        self.own = own
    }

    func name(_ replica: ReplicaID?) -> String {
        guard let replica else { return "another program" }
        if let name = names[replica], !name.isEmpty { return name }
        return replica == own ? "this machine" : "device \(replica.rawValue.prefix(8))"
    }
}
