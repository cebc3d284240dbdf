import CivilTime
import HTTPMessages
import XML

/// Parses the response to ListObjectsV2.
enum S3Listing {
    /// Returns the page; nil if the document is not such a response.
    static func page(_ document: [UInt8]) -> ObjectPage? {
        guard let root = try? XMLElement(parsing: document), root.name == "ListBucketResult" else { return nil }
        let isEncoded = root["EncodingType"] == "url"
        var objects: [ObjectInfo] = []
        for entry in root.all("Contents") {
            guard let text = entry["Key"], let size = entry["Size"].flatMap({ Int64($0) }), size >= 0,
                let name = isEncoded ? PercentEncoding.decode(text, plusIsSpace: true) : text,
                let key = try? ObjectKey(name)
            else { return nil }
            objects.append(
                ObjectInfo(
                    key: key, size: size, version: entry["ETag"],
                    modified: entry["LastModified"].flatMap { UTCTime(rfc3339: $0)?.seconds }))
        }
        let isTruncated = root["IsTruncated"] == "true"
        return ObjectPage(objects: objects, next: isTruncated ? objects.last?.key : nil)
    }
}
