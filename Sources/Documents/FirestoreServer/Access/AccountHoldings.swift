import DocumentStore
import FirestoreProtocol
import Synchronization

/// The amounts of the documents' service that each account holds, of the resources that
/// `AccountLimits` limits. A pure value.
struct AccountHoldings: Sendable {
    enum Resource: Sendable, Hashable {
        case reads, commits, largeRequestBytes, listenStreams, listenTargets, listenBytes, writeStreams
    }

    let limits: AccountLimits
    private var held: [String: [Resource: Int]] = [:]

    init(limits: AccountLimits) {
        self.limits = limits
    }

    /// Whether no account holds anything.
    var isEmpty: Bool { held.isEmpty }

    /// Adds to the amount of a resource that an account holds.
    ///
    /// - Throws: `DocumentStoreError` with `.resourceExhausted` if the account would exceed its
    ///   limit; nothing is added then.
    mutating func take(_ resource: Resource, _ amount: Int, for account: String) throws(DocumentStoreError) {
        let (limit, name, remedy) = terms(of: resource)
        let (sum, overflows) = (held[account]?[resource] ?? 0).addingReportingOverflow(amount)
        guard !overflows, sum <= limit else { throw .limitReached(limit, name, remedy: remedy) }
        held[account, default: [:]][resource] = sum
    }

    mutating func release(_ resource: Resource, _ amount: Int, for account: String) {
        guard let now = held[account]?[resource] else { return }
        held[account]?[resource] = now > amount ? now - amount : nil
        if held[account]?.isEmpty == true { held[account] = nil }
    }

    private func terms(of resource: Resource) -> (limit: Int, name: String, remedy: String) {
        switch resource {
        case .reads: (limits.reads, "reads in progress", "Wait for some to end.")
        case .commits: (limits.commits, "commits in progress", "Wait for some to end.")
        case .largeRequestBytes:
            (limits.largeRequestBytes, "bytes of large requests in progress", "Wait for some to end.")
        case .listenStreams: (limits.listenStreams, "listen streams", "Close some.")
        case .listenTargets: (limits.listenTargets, "listen targets", "Remove some.")
        case .listenBytes: (limits.listenBytes, "bytes of listen targets", "Remove some, or listen to smaller queries.")
        case .writeStreams: (limits.writeStreams, "write streams", "Close some.")
        }
    }
}

/// The holdings of a running service. Administrators are not counted.
final class AccountMeter: Sendable {
    private let usage: Mutex<AccountHoldings>

    init(limits: AccountLimits = AccountLimits()) {
        usage = Mutex(AccountHoldings(limits: limits))
    }

    func take(_ resource: AccountHoldings.Resource, _ amount: Int = 1, for caller: Caller) throws(DocumentStoreError) {
        guard let account = caller.account else { return }
        try usage.withLock { usage throws(DocumentStoreError) in try usage.take(resource, amount, for: account) }
    }

    func release(_ resource: AccountHoldings.Resource, _ amount: Int = 1, for caller: Caller) {
        guard let account = caller.account else { return }
        usage.withLock { $0.release(resource, amount, for: account) }
    }

    /// Runs `body` while an amount of a resource counts for the caller.
    func holding<Result>(
        _ resource: AccountHoldings.Resource, _ amount: Int = 1, for caller: Caller, _ body: () async throws -> Result
    ) async throws -> Result {
        try take(resource, amount, for: caller)
        defer { release(resource, amount, for: caller) }
        return try await body()
    }

    /// Decodes a request and handles it; a large one counts for the caller meanwhile.
    func decoding<Request: ProtobufMessage, Result>(
        _ bytes: [UInt8], for caller: Caller, _ handle: (Request) async throws -> Result
    ) async throws -> Result {
        let amount = bytes.count > Self.largeRequest ? bytes.count : 0
        return try await holding(.largeRequestBytes, amount, for: caller) {
            try await handle(try FirestoreService.decode(bytes))
        }
    }

    private static let largeRequest = 256 << 10
}
