/// The proxies whose statements about a client's address are believed.
///
/// A request that passes through proxies carries the addresses that each of them saw, in
/// `X-Forwarded-For` or `Forwarded` (RFC 7239). A client can send these fields itself, so an entry
/// counts only if the machine that appended it is trusted: entries are read from the last to the
/// first for as long as the preceding address is that of a trusted proxy.
package struct TrustedProxies: Sendable, Hashable {
    /// A client's address, with its port if known.
    package struct Client: Hashable, Sendable {
        package let address: IPAddress
        package let port: UInt16?

        package init(address: IPAddress, port: UInt16?) {
            self.address = address
            self.port = port
        }
    }

    package var networks: [IPNetwork]

    package init(_ networks: [IPNetwork] = []) { self.networks = networks }

    /// Whether connections from the address come from a trusted proxy.
    package func contains(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// Returns the address of the client that a request came from.
    ///
    /// If an entry is missing or is not an address (`unknown`, `_hidden`), the client is the proxy
    /// that should have named it. If both header fields are present and disagree, neither is used,
    /// because most proxies append to one of them and pass the other on as the client sent it.
    ///
    /// - Parameters:
    ///   - peer: the other end of the connection.
    ///   - forwardedFor: the values of all `X-Forwarded-For` fields in order.
    ///   - forwarded: the values of all `Forwarded` fields in order.
    package func client(of peer: Client, forwardedFor: [String], forwarded: [String]) -> Client {
        guard contains(peer.address) else { return peer }
        let first = forwardedFor.isEmpty ? nil : client(of: peer, Self.entries(forwardedFor: forwardedFor))
        let second = forwarded.isEmpty ? nil : client(of: peer, Self.entries(forwarded: forwarded))
        switch (first, second) {
        case (let first?, let second?): return first.address == second.address ? first : peer
        case (let found?, nil), (nil, let found?): return found
        case (nil, nil): return peer
        }
    }

    private func client(of peer: Client, _ entries: [Client?]) -> Client {
        var client = peer
        for entry in entries.reversed() {
            guard contains(client.address), let entry else { break }
            client = entry
        }
        return client
    }

    // MARK: Header fields

    private static func entries(forwardedFor values: [String]) -> [Client?] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map { node($0) } }
    }

    private static func entries(forwarded values: [String]) -> [Client?] {
        values.flatMap { value in
            split(value[...], at: ",").map { element in
                let named = split(element, at: ";").compactMap { pair -> Substring? in
                    let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    guard sides.count == 2, trimmed(sides[0]).lowercased() == "for" else { return nil }
                    return sides[1]
                }
                // No proxy creates an element that names two clients.
                return named.count == 1 ? node(named[0]) : nil
            }
        }
    }

    /// Splits at separators that are outside of quoted strings.
    private static func split(_ text: Substring, at separator: Character) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == separator, !isQuoted {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        parts.append(text[start...])
        return parts
    }

    /// Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`,
    /// each also in quotes.
    private static func node(_ text: Substring) -> Client? {
        var text = trimmed(text)
        if text.count >= 2, text.first == "\"", text.last == "\"" { text = text.dropFirst().dropLast() }
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]"),
                let address = IPAddress(text[text.index(after: text.startIndex)..<end]),
                text[..<end].contains(":")
            else { return nil }
            return client(address, portAfterColon: text[text.index(after: end)...])
        }
        if let address = IPAddress(text) { return Client(address: address, port: nil) }
        guard let colon = text.firstIndex(of: ":"), let address = IPAddress(text[..<colon]) else { return nil }
        return client(address, portAfterColon: text[colon...])
    }

    private static func client(_ address: IPAddress, portAfterColon text: Substring) -> Client? {
        if text.isEmpty { return Client(address: address, port: nil) }
        guard text.first == ":" else { return nil }
        let digits = text.dropFirst()
        // The address is valid even if the port is obfuscated (`_http`).
        if digits.first == "_" { return Client(address: address, port: nil) }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else {
            return nil
        }
        return Client(address: address, port: port)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
