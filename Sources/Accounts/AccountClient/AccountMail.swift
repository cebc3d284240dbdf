import HTTPMessages

/// The purpose of a mail that the identity server sends, with the names of the Identity Toolkit.
package enum AccountMail: String, Sendable {
    case signIn = "EMAIL_SIGNIN"
    case passwordReset = "PASSWORD_RESET"

    /// Returns the code in a link to sign in with; nil if it is not one.
    ///
    /// Firebase puts the link itself into the item `link` of another one, which opens the app.
    package static func signInCode(in link: String) -> String? {
        let items = items(of: link)
        return code(items) ?? items["link"].flatMap { code(Self.items(of: $0)) }
    }

    private static func code(_ items: [String: String]) -> String? {
        guard items["mode"] == "signIn", let code = items["oobCode"], !code.isEmpty else { return nil }
        return code
    }

    private static func items(of link: String) -> [String: String] {
        guard let mark = link.firstIndex(of: "?") else { return [:] }
        let query = link[link.index(after: mark)...].prefix { $0 != "#" }
        let items = HTTPTarget.items(of: String(query)) ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
    }
}
