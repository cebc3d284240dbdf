import SQLite

/// The record that refers to a place in a segment. Each place has at most one.
struct PlacedRecord: Sendable {
    enum Owner: Sendable {
        case object(bucket: String, key: String)
        case part(upload: String, number: Int)
    }

    let owner: Owner
    let place: SegmentPlace
}

extension SQLiteDatabase {
    /// Returns all records that refer to places in these segments.
    func placedRecords(in segments: Set<Int>) throws -> [PlacedRecord] {
        var records: [PlacedRecord] = []
        func add(_ file: String, _ owner: PlacedRecord.Owner) {
            guard case .segment(let place)? = ObjectPlace(file), segments.contains(place.number) else { return }
            records.append(PlacedRecord(owner: owner, place: place))
        }
        try query("SELECT bucket, key, file FROM object WHERE file LIKE 's/%'") { row in
            add(row.text(2), .object(bucket: row.text(0), key: row.text(1)))
        }
        try query("SELECT upload, number, file FROM part WHERE file LIKE 's/%'") { row in
            add(row.text(2), .part(upload: row.text(0), number: row.int(1)))
        }
        return records
    }

    /// Makes a record refer to another place. Returns false if the record was removed, or already
    /// refers to another place.
    func move(_ record: PlacedRecord, to file: String) throws -> Bool {
        let places: [SQLiteValue] = [.text(file), .text(record.place.description)]
        switch record.owner {
        case .object(let bucket, let key):
            try execute(
                "UPDATE object SET file = ?1 WHERE file = ?2 AND bucket = ?3 AND key = ?4",
                places + [.text(bucket), .text(key)])
        case .part(let upload, let number):
            try execute(
                "UPDATE part SET file = ?1 WHERE file = ?2 AND upload = ?3 AND number = ?4",
                places + [.text(upload), .int(number)])
        }
        return changedRowCount == 1
    }
}
