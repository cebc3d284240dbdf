import JSON

/// What is about to be removed of a user's objects from a store that cannot hide it itself. It is an object beside the others,
/// `<user>/condemned`, which only the collector writes: see `ObjectCollector`, and `CollectedObjectStore` for who reads it.
///
///     {"version":1,"removals":3,"until":1790000000,"condemned":[{"since":1787000000,"chunks":["<hex>",…],"manifests":["<hex>",…]},…]}
package struct CondemnedObjects: Hashable, Sendable {
    /// More are left to a later collection. Of so many the object has about 3.4 MB.
    static let limit = 50_000
    private static let byteLimit = 8 << 20
    private static let version: Int64 = 1
    /// So long after `removesUntil` a removal of which nobody heard the end may still go on: two clocks and the date of a request
    /// are each off by at most the 15 minutes that stores put up with.
    private static let margin: Int64 = 3600

    /// When each was condemned, in seconds since 1970.
    private(set) var since: [ContentReference: Int64] = [:]
    /// How many removals have begun, ever.
    private(set) var removals: Int64 = 0
    /// When the last of them stops at the latest, in seconds since 1970; 0: it is known to be over.
    private(set) var removesUntil: Int64 = 0

    init() {}

    /// Throws `.unavailable` for what is no such object and for a newer version: nothing is wrong with what waits for it to be mended.
    init(parsing bytes: [UInt8]) throws(ObjectStorageError) {
        guard let json = try? JSON(parsing: bytes, depth: 5), let version = json["version"]?.integerValue else {
            throw Self.damage
        }
        guard version == Self.version else {
            throw ObjectStorageError(
                .unavailable,
                "the list of condemned objects has version \(version); this program knows \(Self.version), so update it"
            )
        }
        guard let removals = json["removals"]?.integerValue, removals >= 0, let until = json["until"]?.integerValue,
            Self.times.contains(until), let groups = json["condemned"]?.arrayValue
        else { throw Self.damage }
        (self.removals, removesUntil) = (removals, until)
        for group in groups {
            guard let time = group["since"]?.integerValue, Self.times.contains(time),
                let chunks = group["chunks"]?.arrayValue, let manifests = group["manifests"]?.arrayValue
            else { throw Self.damage }
            for (list, reference) in [(chunks, ContentReference.chunk), (manifests, ContentReference.manifest)] {
                for entry in list {
                    guard let id = entry.stringValue.flatMap({ ContentHash(hex: $0) }) else { throw Self.damage }
                    since[reference(id)] = time
                }
            }
        }
    }

    /// The same for the same content.
    var bytes: [UInt8] {
        let groups = Dictionary(grouping: since.keys) { since[$0] ?? 0 }.sorted { $0.key < $1.key }
        let json: JSON = [
            "version": .integer(Self.version), "removals": .integer(removals), "until": .integer(removesUntil),
            "condemned": .array(
                groups.map { time, references in
                    var (chunks, manifests): ([ContentHash], [ContentHash]) = ([], [])
                    for reference in references {
                        switch reference {
                        case .chunk(let id): chunks.append(id)
                        case .manifest(let id): manifests.append(id)
                        }
                    }
                    func list(_ ids: [ContentHash]) -> JSON { .array(ids.sorted().map { .string($0.hex) }) }
                    return ["since": .integer(time), "chunks": list(chunks), "manifests": list(manifests)]
                }),
        ]
        return json.bytes
    }

    /// Whether what is put now may be removed by a removal that was begun before.
    func isRemoving(at now: Int64) -> Bool { removesUntil != 0 && now <= removesUntil + Self.margin }

    func contains(_ reference: ContentReference) -> Bool { since[reference] != nil }

    /// Does nothing where too many are.
    mutating func condemn(_ reference: ContentReference, at now: Int64) {
        if since.count < Self.limit { since[reference] = now }
    }

    mutating func forget(_ reference: ContentReference) { since[reference] = nil }

    mutating func keepOnly(_ references: Set<ContentReference>) { since = since.filter { references.contains($0.key) } }

    mutating func beginRemoval(until: Int64) {
        removals += 1
        removesUntil = until
    }

    mutating func endRemoval() { removesUntil = 0 }

    /// What `store` has of them; nothing is condemned where it has no such object.
    static func read(of namespace: ObjectNamespace, in store: any ObjectStore) async throws -> CondemnedObjects {
        do {
            return try CondemnedObjects(parsing: try await store.read(namespace.condemned, limit: byteLimit))
        } catch let error as ObjectStorageError where error.code == .notFound {
            return CondemnedObjects()
        }
    }

    /// Seconds since 1970 that can be reckoned with.
    private static let times: ClosedRange<Int64> = 0...(1 << 40)

    private static let damage = ObjectStorageError(
        .unavailable,
        "the list of condemned objects is damaged; remove the user's object 'condemned', after which none is")
}
