package import DocumentModel
import Glibc

/// Selection of fields without decoding all of them.
extension EncodedFields {
    /// Decodes only the fields with these top-level keys. The others are skipped by their length.
    ///
    /// - Throws: `ProtocolError` only for errors in the bytes that had to be read.
    package func decoded(only keys: Set<String>) throws(ProtocolError) -> [String: Value] {
        var fields = [String: Value](minimumCapacity: keys.count)
        let candidates = Array(keys)
        try bytes.read { reader throws(ProtocolError) in
            while try reader.next() {
                if try Self.mayBeEntry(at: reader, of: candidates) {
                    try MapFields.readEntry(from: &reader, into: &fields)
                } else {
                    try reader.skip()
                }
            }
        }
        for key in fields.keys where !keys.contains(key) { fields[key] = nil }
        return fields
    }

    /// Returns the fields at `paths`, with the same result as `[String: Value].selecting`.
    package func selecting(_ paths: [FieldPath]) throws(ProtocolError) -> EncodedFields {
        let keys = Set(paths.filter { !$0.isDocumentName }.compactMap(\.segments.first))
        return EncodedFields(try decoded(only: keys).selecting(paths))
    }

    /// Whether the reader, which is a copy, may be at an entry with one of the keys. False is
    /// certain.
    private static func mayBeEntry(at reader: ProtobufReader, of keys: [String]) throws(ProtocolError) -> Bool {
        guard reader.field == 2 else { return false }
        var reader = reader
        let entry = try reader.rawBytes()
        // All encoders write the key first, and a short key has a length of one byte.
        guard entry.count >= 2, entry[0] == 0x0a, entry[1] < 0x80, Int(entry[1]) <= entry.count - 2 else { return true }
        let key = UnsafeRawBufferPointer(rebasing: entry[2..<2 + Int(entry[1])])
        // A key that is not ASCII may be equal in another Unicode form.
        guard key.allSatisfy({ $0 < 0x80 }) else { return true }
        return keys.contains { wanted in
            let isEqual = wanted.utf8.withContiguousStorageIfAvailable { bytes in
                guard bytes.count == key.count else { return false }
                guard let first = bytes.baseAddress, let second = key.baseAddress else { return true }
                return memcmp(first, second, key.count) == 0
            }
            return isEqual ?? true
        }
    }
}

extension QueryPlan {
    /// Whether the document matches the query. Decodes only the fields that the query needs.
    package func matches(_ document: EncodedDocument) throws(ProtocolError) -> Bool {
        guard isInScope(document.name) else { return false }
        return matches(
            Document(
                name: document.name, fields: try document.fields.decoded(only: fieldKeys),
                createTime: document.createTime, updateTime: document.updateTime))
    }

    /// Returns the document with only the fields that the query selects.
    package func project(_ document: EncodedDocument) throws(ProtocolError) -> EncodedDocument {
        guard let paths = projectedPaths else { return document }
        var projected = document
        projected.fields = try document.fields.selecting(paths)
        return projected
    }
}
