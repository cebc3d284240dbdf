package import DocumentModel
import Glibc

/// Looking into encoded fields without decoding all of them.
extension EncodedFields {
    /// The fields with these top-level keys only; the others are skipped by their length.
    ///
    /// - Throws: only for faults in what had to be read.
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

    /// The fields at `paths`, as `[String: Value].selecting` keeps them.
    package func selecting(_ paths: [FieldPath]) throws(ProtocolError) -> EncodedFields {
        let keys = Set(paths.filter { !$0.isDocumentName }.compactMap(\.segments.first))
        return EncodedFields(try decoded(only: keys).selecting(paths))
    }

    /// False if the reader, of which this is a copy, stands at anything but an entry with one of the keys. True is not certain.
    private static func mayBeEntry(at reader: ProtobufReader, of keys: [String]) throws(ProtocolError) -> Bool {
        guard reader.field == 2 else { return false }
        var reader = reader
        let entry = try reader.rawBytes()
        // Every encoder writes the key first; a short one has a length of one byte.
        guard entry.count >= 2, entry[0] == 0x0a, entry[1] < 0x80, Int(entry[1]) <= entry.count - 2 else { return true }
        let key = UnsafeRawBufferPointer(rebasing: entry[2..<2 + Int(entry[1])])
        // Other keys than ASCII may be equal in another Unicode form.
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
    /// As `matches` of the decoded document, decoding no more of it than the query looks at.
    package func matches(_ document: EncodedDocument) throws(ProtocolError) -> Bool {
        guard isInScope(document.name) else { return false }
        return matches(
            Document(
                name: document.name, fields: try document.fields.decoded(only: fieldKeys),
                createTime: document.createTime, updateTime: document.updateTime))
    }

    /// As `project` of the decoded document.
    package func project(_ document: EncodedDocument) throws(ProtocolError) -> EncodedDocument {
        guard let paths = projectedPaths else { return document }
        var projected = document
        projected.fields = try document.fields.selecting(paths)
        return projected
    }
}
