import Cryptography
import SQLite
import SystemIO

/// Moves the objects of sparse segments, so that their space is freed on a file system that cannot
/// free parts of files.
///
/// An object is read under a lease, compared with its digest and stored again. Then its record is
/// changed, unless the object was replaced or removed meanwhile. The old place is valid until that
/// change is committed, and the new one from then on, so a kill at any point leaves at worst copies
/// that no record refers to.
struct SegmentCompaction {
    let store: DirectoryBucketStore

    /// An object that is stored in two places.
    struct Copy: Sendable {
        let record: PlacedRecord
        /// The name of the new place.
        let file: String
    }

    /// The number of bytes of objects that are in memory at once and share their syncs. A client's
    /// put waits for no more than these.
    private static let groupSize: Int64 = 1 << 20

    /// Moves the objects of all sparse segments.
    ///
    /// - Returns: One line for each damaged object, which is left in place.
    func run() async throws -> [String] {
        var problems: [String] = []
        for segments in try await store.run({ store.segments.sparse() }) {
            var rest = try await records(in: segments)[...]
            while !rest.isEmpty {
                try Task.checkCancellation()
                let (copies, damage) = try await copy(Self.takeGroup(from: &rest))
                problems += damage
                try await commit(copies)
            }
        }
        return problems
    }

    /// Returns the records of segments, segment by segment, in the order of their places.
    func records(in segments: [Int]) async throws -> [PlacedRecord] {
        try await store.run {
            // This does not use the thread of the index, which every put needs.
            let path = DirectoryBucketStore.indexPath(store.directory)
            let database = try SQLiteDatabase(path: path, configuration: SQLiteConfiguration().readOnly)
            defer { database.close() }
            let records = Dictionary(grouping: try database.placedRecords(in: Set(segments)), by: \.place.number)
            return segments.flatMap { (records[$0] ?? []).sorted { $0.place.offset < $1.place.offset } }
        }
    }

    private static func takeGroup(from records: inout ArraySlice<PlacedRecord>) -> ArraySlice<PlacedRecord> {
        var size: Int64 = 0
        let group = records.prefix { record in
            size += record.place.size
            return size - record.place.size < groupSize
        }
        records = records[group.endIndex...]
        return group
    }

    /// Makes durable copies of the objects that are undamaged.
    func copy(_ records: ArraySlice<PlacedRecord>) async throws -> (copies: [Copy], problems: [String]) {
        let (objects, problems) = try await store.run {
            var (objects, problems):
                ([(record: PlacedRecord, bytes: ArraySlice<UInt8>, digest: SHA256Digest)], [String]) = ([], [])
            for record in records {
                do {
                    guard let object = try store.segments.read(record.place) else { continue }
                    objects.append((record, object.bytes, object.digest))
                } catch let error as SystemError where error.code == .notFound {
                    // The place was freed after its record was read.
                } catch {
                    problems.append("objects/\(ObjectPlace.segment(record.place)) is not moved: \(error)")
                }
            }
            return (objects, problems)
        }
        let files = try await store.keep(objects.map { ($0.bytes, $0.digest) })
        return (zip(objects, files).map { Copy(record: $0.record, file: $1) }, problems)
    }

    /// Makes the records refer to the copies, and discards the copies of objects that were replaced
    /// or removed meanwhile.
    func commit(_ copies: [Copy]) async throws {
        do {
            let unused = try await store.index.write { database in
                try copies.map { copy in
                    try database.move(copy.record, to: copy.file) ? copy.record.place.description : copy.file
                }
            }
            await store.discard(unused)
        } catch {
            await store.discard(copies.map(\.file))
            throw error
        }
    }
}
