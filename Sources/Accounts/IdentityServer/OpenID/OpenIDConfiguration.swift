/// The configuration of an OpenID provider.
package struct OpenIDConfiguration: Sendable, Hashable {
    /// The name that users type, such as `home`.
    package var name: String
    package var issuer: String
    package var clientID: String
    /// The secret of the client at the provider; nil for a public client.
    package var secret: ClientSecret?

    package init(name: String, issuer: String, clientID: String, secret: ClientSecret? = nil) {
        self.name = name
        self.issuer = issuer
        self.clientID = clientID
        self.secret = secret
    }
}

/// A provider as `NAME=ISSUER,CLIENT[,FILE[,TEAM,KEY]]` names it.
package struct OpenIDOption: Sendable, Hashable {
    package enum Proof: Sendable, Hashable {
        case none
        /// The path of a file whose first line is the client's secret.
        case secret(String)
        /// The path of Apple's key, and the ids of team and key.
        case key(String, team: String, id: String)
    }

    package let name: String
    package let issuer: String
    package let clientID: String
    package let proof: Proof

    /// Parses an option; returns nil if it has another form.
    package init?(_ text: String) {
        let halves = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard halves.count == 2,
            halves[0].utf8.allSatisfy({
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E
            })
        else { return nil }
        let parts = halves[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        switch parts.count {
        case 2: proof = .none
        case 3: proof = .secret(parts[2])
        case 5: proof = .key(parts[2], team: parts[3], id: parts[4])
        default: return nil
        }
        (name, issuer, clientID) = (halves[0], parts[0], parts[1])
    }
}
