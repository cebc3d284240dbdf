import AccountClient
import Control
import Cryptography
import HTTPClient
import IdentityProtocol
import SystemIO

/// The sign-in with an OpenID provider that is in progress. A new one takes the place of the one
/// before.
actor ProviderSignIns {
    private struct Pending {
        let id: String
        let request: ProviderSignInRequest
        let server: String
        let nonce: String?
        let verifier: String
        var listener: RedirectListener?
        let device: DeviceSignIn?
        /// The credential to use in place of what the browser brings; nil for none.
        var credential: ProviderCredential?
    }

    /// The time that a user has at a provider's page.
    private static let patience = Duration.seconds(600)

    private let http: HTTPClient
    private var pending: Pending?

    init(http: HTTPClient) { self.http = http }

    /// Begins a sign-in.
    ///
    /// - Parameter server: The URL of the identity server.
    func begin(_ request: ProviderSignInRequest, at server: String) async throws -> ProviderSignIn {
        await end()
        let client = IdentityClient(url: server, http: http)
        let id = SystemRandom.hex(16)
        if request.usesDevice {
            let device = try await client.beginDevice(request.provider)
            pending = Pending(
                id: id, request: request, server: server, nonce: nil, verifier: "", listener: nil, device: device)
            return ProviderSignIn(id: id, url: device.url, userCode: device.userCode)
        }
        let (state, nonce, verifier) = (SystemRandom.hex(16), SystemRandom.hex(16), SystemRandom.hex(32))
        let listener = try RedirectListener(state: state)
        pending = Pending(
            id: id, request: request, server: server, nonce: nonce, verifier: verifier, listener: listener, device: nil)
        let url = try await client.signInPage(
            of: request.provider, redirect: listener.url,
            parameters: [
                "state": state, "nonce": nonce, "code_challenge_method": "S256",
                "code_challenge": Base64.encode(SHA256.hash(verifier).bytes, alphabet: .url),
            ])
        return ProviderSignIn(id: id, url: url)
    }

    /// Returns the request with which a sign-in was begun, and its identity server.
    func request(of id: String) throws -> (request: ProviderSignInRequest, server: String) {
        guard let pending, pending.id == id else { throw Self.unknown }
        return (pending.request, pending.server)
    }

    /// Waits until the user has signed in at the provider, and calls `body` with the credential.
    ///
    /// - Parameter body: Uses the credential, and returns nil when it has signed in, otherwise what
    ///   the server answered.
    /// - Throws: The errors of `body`. The credential is kept for another try where the server has
    ///   returned one.
    func finish(
        _ id: String, _ body: @Sendable (ProviderCredential) async throws -> ProviderAnswer?
    ) async throws {
        guard let waiting = pending, waiting.id == id else { throw Self.unknown }
        let credential =
            if let known = waiting.credential { known } else { try await credential(of: waiting) }
        let end = ContinuousClock.now + (waiting.device?.lifetime ?? Self.patience)
        while true {
            switch try await body(credential) {
            case nil, .signedIn?: return await self.end()
            case .pending?:
                guard let device = waiting.device, .now < end else { throw Self.late }
                try await Task.sleep(for: device.interval)
            case .inUse(let other)?:
                if pending?.id == id { pending?.credential = other }
                throw ControlError(
                    .alreadyThere, "This account at \(waiting.request.provider) signs in to another account.",
                    hint: "Sign in to that account: ferry login URL --with \(waiting.request.provider)")
            case .needsConfirmation(let email)?:
                throw ControlError(
                    .permissionDenied,
                    "An account with the address \(email) exists, and is not linked to \(waiting.request.provider).",
                    hint: "Sign in to it (ferry login URL --email \(email)), then: ferry link --with "
                        + waiting.request.provider)
            }
        }
    }

    private func credential(of waiting: Pending) async throws -> ProviderCredential {
        if let device = waiting.device {
            return ProviderCredential(provider: waiting.request.provider, proof: .deviceCode(device.deviceCode))
        }
        guard let listener = waiting.listener else { throw Self.unknown }
        let code: String?
        do { code = try await Task { try await listener.code() }.value(within: Self.patience) } catch is RedirectRefusal
        {
            await end()
            throw ControlError(.permissionDenied, "The sign-in was declined at the provider.")
        }
        guard let code else {
            await end()
            throw Self.late
        }
        await listener.close()
        let credential = ProviderCredential(
            provider: waiting.request.provider,
            proof: .code(code, verifier: waiting.verifier, redirect: listener.url), nonce: waiting.nonce)
        return credential
    }

    private func end() async {
        let listener = pending?.listener
        pending = nil
        await listener?.close()
    }

    private static let unknown = ControlError(
        .notFound, "This sign-in is over, or another one was begun.", hint: "Begin again.")
    private static let late = ControlError(
        .unavailable, "Nobody signed in at the provider in time.", hint: "Begin again.")
}
