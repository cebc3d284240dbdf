/// A failure of a bucket store.
///
/// Errors of the system and of SQLite keep their own types.
package struct BucketStoreError: Error, CustomStringConvertible {
    package enum Code: Sendable {
        /// The store's files differ from what the store wrote.
        case damaged
    }

    package let code: Code
    /// The description: the failure, the object or file, and what to do.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
