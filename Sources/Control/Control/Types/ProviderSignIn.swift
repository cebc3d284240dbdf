package import JSON

/// A request to sign in with, or to link, an account at an OpenID provider.
package struct ProviderSignInRequest: JSONCodable, Hashable {
    /// The server; nil for that of the signed-in account.
    package var server: String?
    /// The server's name of the provider.
    package var provider: String
    /// Whether the user signs in on another device.
    package var usesDevice: Bool
    /// Whether the provider's account is linked to the signed-in account.
    package var links: Bool
    /// The invitation to the server, if it requires one for new accounts.
    package var invitation: String?

    package init(
        server: String? = nil, provider: String, usesDevice: Bool = false, links: Bool = false,
        invitation: String? = nil
    ) {
        self.server = server
        self.provider = provider
        self.usesDevice = usesDevice
        self.links = links
        self.invitation = invitation
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            server: json["server"]?.stringValue, provider: try json.string("provider"),
            usesDevice: json.flag("device"), links: json.flag("link"), invitation: json["invitation"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("server", server?.asJSON), ("provider", provider.asJSON), ("device", usesDevice.ifTrue),
            ("link", links.ifTrue), ("invitation", invitation?.asJSON))
    }
}

/// A sign-in with a provider that has begun.
package struct ProviderSignIn: JSONCodable, Hashable {
    package var id: String
    /// The page to open in a browser.
    package var url: String
    /// The code to type in on that page; nil if the browser runs on this machine.
    package var userCode: String?

    package init(id: String, url: String, userCode: String? = nil) {
        self.id = id
        self.url = url
        self.userCode = userCode
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            id: try json.string("id"), url: try json.string("url"), userCode: json["userCode"]?.stringValue)
    }

    package var json: JSON {
        .members(("id", id.asJSON), ("url", url.asJSON), ("userCode", userCode?.asJSON))
    }
}

/// The decision how a sign-in with a provider ends.
package struct ProviderSignInDecision: JSONCodable, Hashable {
    /// The id of the sign-in.
    package var id: String
    /// Whether tasks in the tasks directory that belong to another account are merged into this one.
    package var merges: Bool
    /// Whether to sign in to the account that the provider's account is linked to already, in place
    /// of linking it.
    package var signsIn: Bool

    package init(id: String, merges: Bool = false, signsIn: Bool = false) {
        self.id = id
        self.merges = merges
        self.signsIn = signsIn
    }

    package init(json: JSON) throws(ControlError) {
        self.init(id: try json.string("id"), merges: json.flag("merge"), signsIn: json.flag("signIn"))
    }

    package var json: JSON {
        .members(("id", id.asJSON), ("merge", merges.ifTrue), ("signIn", signsIn.ifTrue))
    }
}
