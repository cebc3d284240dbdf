/// Decides which connections a server keeps once there are as many as it can hold.
///
/// A new connection is admitted in place of one that does nothing, so that a client that opens many connections and leaves
/// them standing cannot keep others out: first one of the same address where that address has too many, else one of the
/// address that holds most. Connections with a request in progress are never closed for another.
package struct ConnectionLimiter<ID: Hashable & Sendable>: Sendable {
    package struct Limits: Sendable, Hashable {
        package var total: Int
        /// The most connections of one `IPAddress.site`; 0 for no limit.
        package var perSite: Int

        package init(total: Int, perSite: Int) {
            self.total = total
            self.perSite = perSite
        }
    }

    /// What a connection is used for, in the order in which connections are given up.
    package enum Use: Int, Comparable, Sendable {
        /// Its client has not sent a whole request header, or no greeting, or has not signed in.
        case unproven
        /// It has no request in progress.
        case idle
        /// The server waits for more of a request from its client.
        case waiting
        /// The server works for its client; it is not given up.
        case busy

        package static func < (a: Use, b: Use) -> Bool { a.rawValue < b.rawValue }
    }

    package enum Admission: Hashable, Sendable {
        case admitted
        /// The new connection takes the place of another, which the caller has to close.
        case replacing(ID)
        case refused
    }

    private let limits: Limits
    private var sites: [IPAddress: Set<ID>] = [:]
    /// Connections that no single client stands behind, such as those of trusted proxies.
    private var others: Set<ID> = []
    private var siteOf: [ID: IPAddress] = [:]

    package init(_ limits: Limits) { self.limits = limits }

    /// The connections that hold a place.
    package var count: Int { siteOf.count + others.count }

    /// Asks for a place for a new connection. A connection that is replaced has lost its place when this returns.
    ///
    /// - Parameters:
    ///   - site: the client's `IPAddress.site`; nil for a connection that counts towards the total only.
    ///   - use: returns what a connection is used for, and since when.
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

    /// Frees a connection's place, if it has one.
    package mutating func close(_ id: ID) {
        guard let site = siteOf.removeValue(forKey: id) else {
            others.remove(id)
            return
        }
        sites[site]?.remove(id)
        if sites[site]?.isEmpty == true { sites[site] = nil }
    }

    /// The least used connection, and of several the one that has been so for longest; nil if all are busy.
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
