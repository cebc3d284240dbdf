import HTTPMessages
import SQLite

/// What the unfinished multipart uploads of one account may hold. They are given up after a week, and until then they are space that no
/// listing of objects shows.
struct UploadLimits: Sendable, Equatable {
    /// Uploads that were begun and neither completed nor aborted.
    let uploads: Int
    /// Bytes of their parts, each of which counts as `leastPart` at least.
    let bytes: Int64

    static let anonymous = UploadLimits(uploads: 100, bytes: 256 << 20)
    static let lasting = UploadLimits(uploads: 1000, bytes: 64 << 30)

    /// Tiny parts cost the server much more than their bytes. All parts but the last of an object that is completed have 5 MiB.
    static let leastPart: Int64 = 1 << 20

    /// What a part counts.
    static func count(_ size: Int64) -> Int64 { max(size, leastPart) }

    /// - Parameter uploads: those that there are.
    /// - Throws: where another upload may not be begun.
    func checkBeginning(besides uploads: Int) throws(S3Error) {
        guard uploads < self.uploads else {
            throw Self.exceeded("has \(uploads) unfinished multipart uploads, and may have \(self.uploads)")
        }
    }

    /// - Parameters:
    ///   - size: Bytes of a part that is to be stored.
    ///   - counted: What the account's other parts count.
    func checkPart(_ size: Int64, besides counted: Int64) throws(S3Error) {
        let (sum, overflow) = counted.addingReportingOverflow(Self.count(size))
        guard !overflow, sum <= bytes else {
            throw Self.exceeded(
                "has \(counted >> 20) MiB in parts of unfinished multipart uploads, and may have \(bytes >> 20) MiB")
        }
    }

    private static func exceeded(_ what: String) -> S3Error {
        S3Error(
            "QuotaExceeded",
            "The account \(what). Complete or abort some of them (list-multipart-uploads shows them), or wait: each is given up a week after its beginning.",
            403)
    }
}

extension SQLiteDatabase {
    /// The unfinished uploads of an account, and what their parts count.
    ///
    /// - Parameter prefix: Of the account's keys.
    func unfinished(_ bucket: String, prefix: String) throws -> (uploads: Int, counted: Int64) {
        try first(
            "SELECT count(*), coalesce(sum(counted), 0) FROM upload WHERE bucket = ? AND key >= ? AND key < ?",
            [.text(bucket), .text(prefix), .text(prefix.endOfPrefix)]
        ) { ($0.int(0), $0.int64(1)) } ?? (0, 0)
    }
}
