import IdentityProtocol
import JSON

/// Checks of the fields with which administrators describe accounts.
enum AccountFields {
    /// Returns an id that may begin the keys of an account's objects.
    ///
    /// - Throws: `ToolkitRefusal`.
    static func id(_ text: String) throws -> String {
        guard (1...128).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        else { throw ToolkitRefusal("INVALID_LOCAL_ID : An id has 1 to 128 ASCII characters without slashes.") }
        return text
    }

    /// Returns custom claims.
    ///
    /// - Throws: `ToolkitRefusal` for claims that are not an object, too long, or reserved.
    static func customClaims(_ json: JSON) throws -> JSONObject {
        guard let claims = json.objectValue else { throw ToolkitRefusal("INVALID_CLAIMS") }
        guard json.bytes.count <= TokenIssuer.customClaimsLimit else { throw ToolkitRefusal("CLAIMS_TOO_LARGE") }
        guard !claims.keys.contains(where: TokenIssuer.reservedClaims.contains) else {
            throw ToolkitRefusal("FORBIDDEN_CLAIM")
        }
        return claims
    }

    /// Returns custom claims from their text.
    static func customClaims(text: String) throws -> JSONObject {
        if text.isEmpty { return [:] }
        guard text.utf8.count <= 4 * TokenIssuer.customClaimsLimit, let json = try? JSON(parsing: text, depth: 8) else {
            throw ToolkitRefusal("INVALID_CLAIMS")
        }
        return try customClaims(json)
    }
}

extension Account {
    /// The account as the Identity Toolkit's `UserInfo`.
    var json: JSONObject {
        var user: JSONObject = [
            "localId": .string(id), "emailVerified": .boolean(isEmailVerified),
            "createdAt": .string(String(createdAt)), "lastLoginAt": .string(String(lastLoginAt)),
            "validSince": .string(String(validSince)), "disabled": .boolean(isDisabled),
            "providerUserInfo": .array(providers),
        ]
        user["email"] = email.map { .string($0) }
        user["displayName"] = displayName.map { .string($0) }
        user["photoUrl"] = photoURL.map { .string($0) }
        user["passwordUpdatedAt"] = passwordUpdatedAt.map { .integer($0) }
        if !customClaims.keys.isEmpty { user["customAttributes"] = .string(JSON.object(customClaims).text) }
        return user
    }

    /// The ways to sign in to the account.
    var providers: [JSON] {
        var infos = links.map { link in
            var info: JSONObject = [
                "providerId": .string(link.provider), "rawId": .string(link.subject),
                "federatedId": .string(link.subject),
            ]
            info["email"] = link.email.map { .string($0) }
            info["displayName"] = link.displayName.map { .string($0) }
            info["photoUrl"] = link.photoURL.map { .string($0) }
            return JSON.object(info)
        }
        if hasPassword, let email {
            infos.append([
                "providerId": "password", "rawId": .string(email), "federatedId": .string(email),
                "email": .string(email),
            ])
        }
        return infos
    }
}
