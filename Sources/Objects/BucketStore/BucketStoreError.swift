/// The reason why a bucket store cannot do what it was asked to.
///
/// Errors of the system and of SQLite keep their own types.
package struct BucketStoreError: Error, CustomStringConvertible {
    package enum Code: Sendable {
        /// The store's files are not as the store left them.
        case damaged
    }

    package let code: Code
    /// What failed, on what, and what to do.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
