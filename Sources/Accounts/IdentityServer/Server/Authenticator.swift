package import IdentityProtocol
import Synchronization

/// Determines the identity that an `Authorization` header proves.
package final class Authenticator: Sendable {
    private let verifier: TokenVerifier
    private let revocations: Revocations
    private let isEmulator: Bool
    private let now: @Sendable () -> Int64

    /// Verified tokens. Verifying a signature takes 30 µs, and clients send the same token for an
    /// hour.
    private let known = Mutex<[String: VerifiedToken]>([:])
    private static let knownLimit = 1000

    init(
        _ verifier: TokenVerifier, _ revocations: Revocations, isEmulator: Bool, now: @escaping @Sendable () -> Int64
    ) {
        self.verifier = verifier
        self.revocations = revocations
        self.isEmulator = isEmulator
        self.now = now
    }

    /// The identity that an `Authorization` header proves.
    package enum Identification: Sendable {
        case nobody
        case user(VerifiedToken)
        case administrator
    }

    /// Returns the identity that a header proves; `.nobody` without a header.
    ///
    /// In emulator mode `Bearer owner` is the administrator, and tokens need no signature.
    ///
    /// - Throws: `.invalidToken` or `.tokenExpired`.
    package func identify(authorization: String?) throws(IdentityError) -> Identification {
        guard let authorization else { return .nobody }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        // The second spelling is that of Firebase's older clients.
        guard parts.count == 2, ["bearer", "firebase"].contains(parts[0].lowercased()) else {
            throw IdentityError(.invalidToken, "The authorization is not a bearer token.")
        }
        if isEmulator, parts[1] == "owner" { return .administrator }
        return .user(try verify(String(parts[1])))
    }

    /// A stream of the accounts whose tokens were revoked.
    package var revokedAccounts: AsyncStream<Set<String>> { revocations.changes }

    package func verify(_ text: String) throws(IdentityError) -> VerifiedToken {
        let now = now()
        let token = try decode(text, now: now)
        guard isEmulator || !revocations.isRevoked(user: token.userID, issuedAt: token.issuedAt) else {
            throw IdentityError(.tokenExpired, "The session was ended; sign in again.")
        }
        return token
    }

    private func decode(_ text: String, now: Int64) throws(IdentityError) -> VerifiedToken {
        if let token = known.withLock({ $0[text] }), token.expiresAt > now { return token }
        let token = try verifier.verify(text, now: now)
        known.withLock { known in
            if known.count >= Self.knownLimit { known.removeAll() }
            known[text] = token
        }
        return token
    }
}
