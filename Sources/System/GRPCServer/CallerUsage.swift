import Synchronization
import SystemIO

/// The memory of a server that one account uses, or one address without an account.
///
/// A usage exists as long as a connection or a call refers to it. Until then the registry returns
/// the same usage for the same caller.
final class CallerUsage: Sendable {
    enum Caller: Hashable, Sendable {
        case account(String)
        /// The network of an address; see `IPAddress.site`.
        case site(IPAddress)
        case unknown
    }

    let caller: Caller
    /// The bytes of requests: header fields, unfinished messages, and messages that a handler works
    /// on.
    let held = ByteCount()
    /// The bytes of answers that the client has not read.
    let unread = ByteCount()
    let connections = ByteCount()
    private let registry: UsageRegistry

    fileprivate init(_ caller: Caller, _ registry: UsageRegistry) {
        self.caller = caller
        self.registry = registry
    }

    deinit { registry.forget(caller, ObjectIdentifier(self)) }

    var hasAccount: Bool {
        if case .account = caller { return true }
        return false
    }
}

/// A byte count that several threads update.
final class ByteCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Adds to the count if the sum is within the limit.
    ///
    /// - Returns: Whether the bytes were added.
    func add(_ bytes: Int, within limit: Int) -> Bool {
        let (_, sum) = count.add(bytes, ordering: .relaxed)
        if sum <= limit { return true }
        count.subtract(bytes, ordering: .relaxed)
        return false
    }

    func subtract(_ bytes: Int) { count.subtract(bytes, ordering: .relaxed) }
}

/// The usages of all callers that use memory of a server.
final class UsageRegistry: Sendable {
    private final class Entry {
        let id: ObjectIdentifier
        weak var usage: CallerUsage?

        init(_ usage: CallerUsage) {
            id = ObjectIdentifier(usage)
            self.usage = usage
        }
    }

    private let entries = Mutex<[CallerUsage.Caller: Entry]>([:])

    func usage(of caller: CallerUsage.Caller) -> CallerUsage {
        entries.withLock { entries in
            if let entry = entries[caller], let usage = entry.usage { return usage }
            let usage = CallerUsage(caller, self)
            entries[caller] = Entry(usage)
            return usage
        }
    }

    /// The number of callers that use memory.
    var count: Int { entries.withLock { $0.count } }

    fileprivate func forget(_ caller: CallerUsage.Caller, _ id: ObjectIdentifier) {
        entries.withLock { entries in
            // Another usage may have replaced it.
            if let entry = entries[caller], entry.id == id { entries[caller] = nil }
        }
    }
}
