import JSON

/// The objects of one user that are marked for deletion, in a store that cannot hide objects. The
/// list is stored as the object `<user>/condemned`, which only `ObjectCollector` writes and
/// `CollectedObjectStore` reads.
///
///     {"version":1,"removals":3,"until":1790000000,"condemned":
///       [{"since":1787000000,"chunks":["<hex>",…],"manifests":["<hex>",…]},…]}
package struct CondemnedObjects: Hashable, Sendable {
    /// The maximum number of marked objects; further ones are left to a later collection. A list of
    /// this length has about 3.4 MB.
    static let limit = 50_000
    private static let byteLimit = 8 << 20
    private static let version: Int64 = 1
    /// The number of seconds after `removesUntil` for which an interrupted deletion may still
    /// continue: two clocks and the date of a request can each be wrong by the 15 minutes that
    /// stores tolerate.
    private static let margin: Int64 = 3600

    /// The time at which each object was marked, in seconds since 1970.
    private(set) var since: [ContentReference: Int64] = [:]
    /// The number of deletions that have begun so far.
    private(set) var removals: Int64 = 0
    /// The time at which the last deletion ends at the latest, in seconds since 1970; 0 if it is
    /// known to have ended.
    private(set) var removesUntil: Int64 = 0

    init() {}

    /// Parses a list.
    ///
    /// Throws `.unavailable` if the bytes are no such list or have a newer version. The uploads
    /// that wait for it are not at fault and must not be given up.
    init(parsing bytes: [UInt8]) throws(ObjectStorageError) {
        guard let json = try? JSON(parsing: bytes, depth: 5), let version = json["version"]?.integerValue else {
            throw Self.damage
        }
        guard version == Self.version else {
            throw ObjectStorageError(
                .unavailable,
                "the list of objects to delete has version \(version); this program knows \(Self.version), so update it"
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

    /// The canonical form: equal lists have equal bytes.
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

    /// Whether an object that is uploaded at `now` may be removed by a deletion that began before.
    func isRemoving(at now: Int64) -> Bool { removesUntil != 0 && now <= removesUntil + Self.margin }

    func contains(_ reference: ContentReference) -> Bool { since[reference] != nil }

    /// Marks an object for deletion, unless `limit` objects are marked already.
    mutating func condemn(_ reference: ContentReference, at now: Int64) {
        if since.count < Self.limit { since[reference] = now }
    }

    /// Unmarks an object.
    mutating func forget(_ reference: ContentReference) { since[reference] = nil }

    /// Unmarks all objects but these.
    mutating func keepOnly(_ references: Set<ContentReference>) { since = since.filter { references.contains($0.key) } }

    mutating func beginRemoval(until: Int64) {
        removals += 1
        removesUntil = until
    }

    mutating func endRemoval() { removesUntil = 0 }

    /// Reads the list of a user from `store`; an empty list if there is none.
    static func read(of namespace: ObjectNamespace, in store: any ObjectStore) async throws -> CondemnedObjects {
        do {
            return try CondemnedObjects(parsing: try await store.read(namespace.condemned, limit: byteLimit))
        } catch let error as ObjectStorageError where error.code == .notFound {
            return CondemnedObjects()
        }
    }

    /// The plausible times, in seconds since 1970.
    private static let times: ClosedRange<Int64> = 0...(1 << 40)

    private static let damage = ObjectStorageError(
        .unavailable,
        "the list of objects to delete is damaged; remove the user's object 'condemned', which unmarks all of them")
}
