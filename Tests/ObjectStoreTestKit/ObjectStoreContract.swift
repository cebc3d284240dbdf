package import ObjectStorage

/// The contract of every `ObjectStore`: checks that the tests of each implementation run on an
/// empty store.
package struct ObjectStoreContract: Sendable, CustomStringConvertible {
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// The checked requirement, one sentence.
    package let description: String

    private let check: @Sendable (any ObjectStore, Keys) async throws -> Void

    /// Throws a `Violation`, or an unexpected error of the store.
    ///
    /// - Parameter prefix: The prefix of all keys, so that checks can share a store that is not
    ///   empty.
    package func run(on store: any ObjectStore, prefix: String = "") async throws {
        try await check(store, Keys(prefix: prefix))
    }

    init(_ description: String, _ check: @escaping @Sendable (any ObjectStore, Keys) async throws -> Void) {
        self.description = description
        self.check = check
    }

    package static let all = content + listing
}

struct Keys: Sendable {
    let prefix: String

    func callAsFunction(_ name: String) throws -> ObjectKey { try ObjectKey(prefix + name) }
}

func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    guard condition else { throw ObjectStoreContract.Violation(description: message()) }
}

func requireEqual<Value: Equatable>(_ left: Value, _ right: Value, _ message: @autoclosure () -> String) throws {
    try require(left == right, "\(message()): \(left) is not \(right)")
}

func requireFailure(_ code: ObjectStorageError.Code, _ what: String, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as ObjectStorageError {
        try requireEqual(error.code, code, "\(what) failed with another code (\(error))")
        return
    }
    throw ObjectStoreContract.Violation(description: "\(what) should have failed with \(code)")
}
