/// Decides which connections a server keeps when it has as many as it can hold.
///
/// A new connection replaces an unused one, so that a client that opens many connections and leaves
/// them idle cannot lock others out. If the new connection's address has too many connections, one
/// of them is replaced; otherwise one of the address that has the most. Connections with a request
/// in progress are never closed for another.
package struct ConnectionLimiter<ID: Hashable & Sendable>: Sendable {
    package struct Limits: Sendable, Hashable {
        package var total: Int
        /// The maximum number of connections from one `IPAddress.site`; 0 for no limit.
        package var perSite: Int

        package init(total: Int, perSite: Int) {
            self.total = total
            self.perSite = perSite
        }
    }

    /// The state of a connection, in the order in which connections are closed for new ones.
    package enum Use: Int, Comparable, Sendable {
        /// The client has not yet sent a complete request header or greeting, or has not signed in.
        case unproven
        /// The connection has no request in progress.
        case idle
        /// The server is waiting for the rest of a request.
        case waiting
        /// The server is processing a request; the connection is not closed for another.
        case busy

        package static func < (a: Use, b: Use) -> Bool { a.rawValue < b.rawValue }
    }

    package enum Admission: Hashable, Sendable {
        case admitted
        /// The new connection takes the place of an existing one, which the caller must close.
        case replacing(ID)
        case refused
    }

    private let limits: Limits
    private var sites: [IPAddress: Set<ID>] = [:]
    /// Connections that are not counted for a single client, such as those of trusted proxies.
    private var others: Set<ID> = []
    private var siteOf: [ID: IPAddress] = [:]

    package init(_ limits: Limits) { self.limits = limits }

    /// The number of connections that hold a place.
    package var count: Int { siteOf.count + others.count }

    /// Requests a place for a new connection. A replaced connection has already lost its place when
    /// this returns.
    ///
    /// - Parameters:
    ///   - site: the client's `IPAddress.site`; nil for a connection that counts toward the total
    ///     only.
    ///   - use: returns the state of a connection and the time since which it has had it.
    package mutating func open(
        _ id: ID, _ site: IPAddress?, use: (ID) -> (Use, ContinuousClock.Instant)
    ) -> Admission {
        var victim: ID?
        if let site, limits.perSite > 0, let own = sites[site], own.count >= limits.perSite {
            victim = Self.leastUsed(of: own, use)
            if victim == nil { return .refused }
        } else if count >= limits.total {
            let most = sites.values.reduce(0) { max($0, $1.count) }
            for held in sites.values where held.count == most {
                guard let candidate = Self.leastUsed(of: held, use) else { continue }
                victim = victim.map { Self.leastUsed(of: [$0, candidate], use) ?? $0 } ?? candidate
            }
            victim = victim ?? Self.leastUsed(of: Set(siteOf.keys), use) ?? Self.leastUsed(of: others, use)
            if victim == nil { return .refused }
        }
        if let victim { close(victim) }
        if let site {
            sites[site, default: []].insert(id)
            siteOf[id] = site
        } else {
            others.insert(id)
        }
        return victim.map { .replacing($0) } ?? .admitted
    }

    /// Frees the place of a connection, if it has one.
    package mutating func close(_ id: ID) {
        guard let site = siteOf.removeValue(forKey: id) else {
            others.remove(id)
            return
        }
        sites[site]?.remove(id)
        if sites[site]?.isEmpty == true { sites[site] = nil }
    }

    /// Returns the least used connection; if several are equal, the one that has been so for
    /// longest. Returns nil if all are busy.
    private static func leastUsed(of ids: Set<ID>, _ use: (ID) -> (Use, ContinuousClock.Instant)) -> ID? {
        var least: (id: ID, use: (Use, ContinuousClock.Instant))?
        for id in ids {
            let found = use(id)
            guard found.0 != .busy else { continue }
            if let known = least?.use, known <= found { continue }
            least = (id, found)
        }
        return least?.id
    }
}
