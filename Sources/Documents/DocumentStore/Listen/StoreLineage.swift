import DocumentModel

/// The text of `DocumentStore.lineage`.
enum StoreLineage {
    /// Returns the text for an epoch.
    ///
    /// - Parameter missing: the commit that a client knows and the store lacks.
    static func words(_ epoch: [UInt8], without missing: Timestamp?) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let name = String(decoding: epoch.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
        return missing.map { "\(name) without \($0.microseconds)" } ?? name
    }
}
