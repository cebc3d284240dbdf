import Synchronization
import SystemIO

/// What one account, or one address that has not signed in, holds of a server's memory.
///
/// It lives as long as a connection or a call refers to it; the registry finds it by its caller meanwhile.
final class CallerUsage: Sendable {
    enum Caller: Hashable, Sendable {
        case account(String)
        /// An `IPAddress.site`.
        case site(IPAddress)
        case unknown
    }

    let caller: Caller
    /// Bytes of requests: of header fields, of unfinished messages, and of messages that a handler works on.
    let held = ByteCount()
    /// Bytes of answers that the client has not read.
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

/// A number of bytes that several threads count.
final class ByteCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Adds to the count if the sum is within the limit.
    func add(_ bytes: Int, within limit: Int) -> Bool {
        let (_, sum) = count.add(bytes, ordering: .relaxed)
        if sum <= limit { return true }
        count.subtract(bytes, ordering: .relaxed)
        return false
    }

    func subtract(_ bytes: Int) { count.subtract(bytes, ordering: .relaxed) }
}

/// The callers of a server that hold something.
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

    /// The number of callers that hold something.
    var count: Int { entries.withLock { $0.count } }

    fileprivate func forget(_ caller: CallerUsage.Caller, _ id: ObjectIdentifier) {
        entries.withLock { entries in
            // Another may have taken its place.
            if let entry = entries[caller], entry.id == id { entries[caller] = nil }
        }
    }
}
