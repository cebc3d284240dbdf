package import DocumentStore

/// The contract of every `DocumentStore`: checks that the tests of each implementation run on an
/// empty store, whose documents inherit the field `inherited`.
package struct DocumentStoreContract: Sendable, CustomStringConvertible {
    package struct Violation: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    /// The checked requirement, one sentence.
    package let description: String

    private let check: @Sendable (StoreUnderTest) async throws -> Void

    /// Throws a `Violation`, or an unexpected error of the store.
    package func run(on store: any DocumentStore) async throws { try await check(StoreUnderTest(store)) }

    init(_ description: String, _ check: @escaping @Sendable (StoreUnderTest) async throws -> Void) {
        self.description = description
        self.check = check
    }

    package static let all = writing + reading + querying + transactions + listening
}

func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    guard condition else { throw DocumentStoreContract.Violation(message()) }
}

func requireEqual<Value: Equatable>(_ found: Value, _ wanted: Value, _ what: @autoclosure () -> String) throws {
    try require(found == wanted, "\(what()): found \(found), wanted \(wanted)")
}

/// Checks that `body` throws `code` and, if given, a message that contains `words`.
func requireRefusal(
    _ code: DocumentStoreError.Code, _ words: String = "", _ what: String, _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch let error as DocumentStoreError {
        try requireEqual(error.code, code, "\(what) failed otherwise (\(error))")
        try require(error.message.contains(words), "\(what) failed with the words: \(error.message)")
        return
    }
    throw DocumentStoreContract.Violation("\(what) should have failed with \(code)")
}
