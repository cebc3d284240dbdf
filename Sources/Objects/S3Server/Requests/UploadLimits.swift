import BucketStore
import HTTPMessages

/// The limits of one account's unfinished multipart uploads. Unfinished uploads are removed after a
/// week; until then they take space that no listing of objects shows.
package struct UploadLimits: Sendable, Equatable {
    /// The maximum number of uploads that are neither completed nor aborted.
    let uploads: Int
    /// The maximum number of bytes of their parts, each of which counts for
    /// `UploadedPart.countedSize`.
    let bytes: Int64

    package static let anonymous = UploadLimits(uploads: 100, bytes: 256 << 20)
    package static let lasting = UploadLimits(uploads: 1000, bytes: 64 << 30)

    /// Throws `QuotaExceeded` if another upload may not start.
    ///
    /// - Parameter uploads: The number of unfinished uploads.
    func checkBeginning(besides uploads: Int) throws(S3Error) {
        guard uploads < self.uploads else {
            throw Self.exceeded("has \(uploads) unfinished multipart uploads, and may have \(self.uploads)")
        }
    }

    /// Throws `QuotaExceeded` if another part does not fit.
    ///
    /// - Parameters:
    ///   - size: The size of the part in bytes.
    ///   - counted: The bytes that the account's other parts count for.
    func checkPart(_ size: Int64, besides counted: Int64) throws(S3Error) {
        let (sum, overflow) = counted.addingReportingOverflow(UploadedPart.countedSize(size))
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
