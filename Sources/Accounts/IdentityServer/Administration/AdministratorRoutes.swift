import HTTPMessages
import HTTPServer
import IdentityProtocol
import JSON

/// The calls with which administrators' programs manage accounts (`projects/P/accounts…`), as the
/// Admin SDKs make them. The caller has been identified as an administrator.
struct AdministratorRoutes: Sendable {
    let server: IdentityService

    /// The maximum number of accounts that one call names.
    private static let batchLimit = 1000
    private static let bodyLimit = 8 << 20
    /// The last second of the year 9999, in seconds since 1970.
    private static let lastTime: Int64 = 253_402_300_799

    /// Whether an administrator's `accounts:…` without a project means one of these calls.
    static func handles(_ call: String) -> Bool {
        ["lookup", "update", "delete", "batchDelete", "batchCreate", "batchGet", "query", "sendOobCode"].contains(call)
    }

    /// Handles a call.
    ///
    /// - Parameter call: The part of the path after the project, such as `accounts:lookup`.
    func handle(_ call: String, _ request: HTTPServerRequest) async throws -> HTTPResponse {
        if call == "accounts:batchGet" {
            guard request.method == .get else { throw ToolkitRefusal("METHOD_NOT_ALLOWED") }
            return .json(.ok, try await list(request.target))
        }
        guard request.method == .post else { throw ToolkitRefusal("METHOD_NOT_ALLOWED") }
        let body = try await ToolkitAnswer.json(request, limit: Self.bodyLimit)
        let address = NetworkAddress(peer: request.peer.address)
        switch call {
        case "accounts", "accounts:signUp": return .json(.ok, try await create(body, address))
        case "accounts:lookup": return .json(.ok, try await lookup(body))
        case "accounts:update": return .json(.ok, try await update(body, address))
        case "accounts:delete": return .json(.ok, try await delete(body))
        case "accounts:batchDelete": return .json(.ok, try await deleteBatch(body))
        case "accounts:batchCreate": return .json(.ok, try await importBatch(body))
        case "accounts:query": return .json(.ok, try await query(body))
        case "accounts:sendOobCode":
            return .json(.ok, try await MailRoutes(server: server).send(body, isAdministrator: true, address))
        case ":createSessionCookie": return .json(.ok, try createSessionCookie(body))
        default: return ToolkitAnswer.unknownOperation
        }
    }

    private var accounts: Accounts { server.accounts }

    // MARK: reading

    private func lookup(_ body: JSONObject) async throws -> JSON {
        func texts(_ name: String) -> [String] { body[name]?.arrayValue?.compactMap(\.stringValue) ?? [] }
        let federated = body["federatedUserId"]?.arrayValue ?? []
        let (ids, emails) = (texts("localId"), texts("email"))
        guard ids.count + emails.count + federated.count <= Self.batchLimit else {
            throw ToolkitRefusal("INVALID_REQUEST : At most \(Self.batchLimit) accounts at once.")
        }
        var found: [Account] = []
        for id in ids { if let account = try await accounts.store.account(id: id) { found.append(account) } }
        for email in emails {
            guard let email = try? Accounts.normalized(email) else { continue }
            if let (account, _) = try await accounts.store.account(email: email) { found.append(account) }
        }
        for entry in federated {
            guard let provider = entry["providerId"]?.stringValue, let subject = entry["rawId"]?.stringValue,
                let id = try await accounts.store.links.account(provider: provider, subject: subject),
                let account = try await accounts.store.account(id: id)
            else { continue }
            found.append(account)
        }
        var seen = Set<String>()
        let users = found.filter { seen.insert($0.id).inserted }.map { JSON.object($0.json) }
        var answer: JSONObject = ["kind": "identitytoolkit#GetAccountInfoResponse"]
        // Without a result the member is absent, by which clients recognize that.
        if !users.isEmpty { answer["users"] = .array(users) }
        return .object(answer)
    }

    private func list(_ target: HTTPTarget) async throws -> JSON {
        let size = target[query: "maxResults"].flatMap { Int($0) } ?? 20
        guard (1...Self.batchLimit).contains(size) else { throw ToolkitRefusal("INVALID_PAGE_SELECTION") }
        let page = try await accounts.store.accounts(after: target[query: "nextPageToken"] ?? "", limit: size)
        var answer: JSONObject = [
            "kind": "identitytoolkit#DownloadAccountResponse", "users": .array(page.map { .object($0.json) }),
        ]
        if page.count == size, let last = page.last { answer["nextPageToken"] = .string(last.id) }
        return .object(answer)
    }

    private func query(_ body: JSONObject) async throws -> JSON {
        let all = try await accounts.list()
        var answer: JSONObject = ["recordsCount": .string(String(all.count))]
        if body["returnUserInfo"]?.booleanValue ?? true {
            answer["userInfo"] = .array(all.prefix(Self.batchLimit).map { .object($0.json) })
        }
        return .object(answer)
    }

    // MARK: changing

    private func create(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        let id = try body["localId"]?.stringValue.map(AccountFields.id)
        if let id, try await accounts.store.account(id: id) != nil { throw ToolkitRefusal("DUPLICATE_LOCAL_ID") }
        let email = try body["email"]?.stringValue.map(Accounts.normalized)
        if let email, try await accounts.store.account(email: email) != nil {
            throw ToolkitRefusal("EMAIL_EXISTS")
        }
        try refusePhone(body)
        var hash: PasswordHash?
        if let password = body["password"]?.stringValue {
            try Accounts.check(password)
            hash = try await accounts.hash(password, for: address)
        }
        let account = try await accounts.store.create(
            id: id, email: email, password: hash, displayName: body["displayName"]?.stringValue, isManaged: true,
            now: server.now())
        var values = try Self.values(of: body)
        values.removeAll { $0.column == "display_name" }
        if !values.isEmpty { _ = try await accounts.store.update(account.id, values) }
        try await accounts.reload(now: server.now())
        var answer: JSONObject = ["kind": "identitytoolkit#SignupNewUserResponse", "localId": .string(account.id)]
        answer["email"] = email.map { .string($0) }
        return .object(answer)
    }

    func update(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        guard let id = body["localId"]?.stringValue else { throw ToolkitRefusal("MISSING_LOCAL_ID") }
        guard let account = try await accounts.store.account(id: id) else {
            throw ToolkitRefusal("USER_NOT_FOUND")
        }
        try refusePhone(body)
        var values = try Self.values(of: body)
        if let email = try body["email"]?.stringValue.map(Accounts.normalized), email != account.email {
            values.append(("email", .text(email)))
            if body["emailVerified"] == nil { values.append(("email_verified", 0)) }
        }
        var change = AccountChange(endsMailedCodes: true)
        if let password = body["password"]?.stringValue {
            try Accounts.check(password)
            let hash = try await accounts.hash(password, for: address)
            values += AccountStore.values(of: hash, now: server.now())
            change.endsSessionsAt = server.now()
        }
        if let value = body["validSince"] {
            let since = value.stringValue.flatMap { Int64($0) } ?? value.integerValue
            guard let since, (0...Self.lastTime).contains(since) else { throw ToolkitRefusal("INVALID_REQUEST") }
            values.append(("valid_since", .integer(since)))
        }
        for attribute in body["deleteAttribute"]?.arrayValue ?? [] {
            switch attribute.stringValue {
            case "DISPLAY_NAME"?: values.append(("display_name", .null))
            case "PHOTO_URL"?: values.append(("photo_url", .null))
            case "EMAIL"?: values += [("email", .null), ("email_verified", 0)]
            case "PASSWORD"?: values += AccountStore.values(of: nil, now: server.now())
            default: throw ToolkitRefusal("INVALID_REQUEST : This attribute cannot be deleted.")
            }
        }
        let removed = Set((body["deleteProvider"]?.arrayValue ?? []).compactMap(\.stringValue)).subtracting(["phone"])
        change.removedProviders = removed
        if removed.contains("password") { values += AccountStore.values(of: nil, now: server.now()) }
        if let link = body["linkProviderUserInfo"], let provider = link["providerId"]?.stringValue,
            let subject = link["rawId"]?.stringValue
        {
            change.link = ProviderLink(
                provider: provider, subject: subject, email: link["email"]?.stringValue,
                displayName: link["displayName"]?.stringValue, photoURL: link["photoUrl"]?.stringValue)
        }
        var last: [String: Int] = [:]
        for (index, value) in values.enumerated() { last[value.column] = index }
        change.values = values.enumerated().filter { last[$1.column] == $0 }.map(\.1)
        let conflict = change.link.map { ProviderLinks.conflict($0.provider) } ?? AccountStore.emailExists
        let changed = try await accounts.store.change(id, conflict: conflict) { [change] _, _ in change }
        try await accounts.reload(now: server.now())
        var answer = changed.json
        answer["kind"] = "identitytoolkit#SetAccountInfoResponse"
        return .object(answer)
    }

    private func delete(_ body: JSONObject) async throws -> JSON {
        guard let id = body["localId"]?.stringValue else { throw ToolkitRefusal("MISSING_LOCAL_ID") }
        guard let account = try await accounts.store.account(id: id) else {
            throw ToolkitRefusal("USER_NOT_FOUND")
        }
        try await accounts.delete(account, now: server.now())
        return ["kind": "identitytoolkit#DeleteAccountResponse"]
    }

    private func deleteBatch(_ body: JSONObject) async throws -> JSON {
        let ids = (body["localIds"]?.arrayValue ?? []).compactMap(\.stringValue)
        guard (1...Self.batchLimit).contains(ids.count) else {
            throw ToolkitRefusal("LOCAL_ID_LIST_EXCEEDS_LIMIT")
        }
        let isForced = body["force"]?.booleanValue ?? false
        var errors: [JSON] = []
        for (index, id) in ids.enumerated() {
            guard let account = try await accounts.store.account(id: id) else { continue }
            guard isForced || account.isDisabled else {
                errors.append([
                    "index": .integer(Int64(index)), "localId": .string(id),
                    "message": "NOT_DISABLED : Disable it first.",
                ])
                continue
            }
            try await accounts.delete(account, now: server.now())
        }
        return errors.isEmpty ? .object([:]) : ["errors": .array(errors)]
    }

    /// Imports accounts without passwords: hashes of other systems are not accepted.
    private func importBatch(_ body: JSONObject) async throws -> JSON {
        let users = body["users"]?.arrayValue ?? []
        guard (1...Self.batchLimit).contains(users.count) else { throw ToolkitRefusal("MISSING_USER_ACCOUNT") }
        var errors: [JSON] = []
        for (index, user) in users.enumerated() {
            do { try await importOne(user.objectValue ?? [:]) } catch {
                let message =
                    (error as? ToolkitRefusal)?.name ?? (error as? IdentityError)?.message ?? "INTERNAL_ERROR"
                errors.append(["index": .integer(Int64(index)), "message": .string(message)])
            }
        }
        try await accounts.reload(now: server.now())
        var answer: JSONObject = ["kind": "identitytoolkit#UploadAccountResponse"]
        if !errors.isEmpty { answer["error"] = .array(errors) }
        return .object(answer)
    }

    private func importOne(_ user: JSONObject) async throws {
        guard let text = user["localId"]?.stringValue else { throw ToolkitRefusal("MISSING_LOCAL_ID") }
        guard user["passwordHash"] == nil else {
            throw ToolkitRefusal(
                "Passwords of other systems cannot be imported. Leave them out; the user sets a new one.")
        }
        try refusePhone(user)
        let id = try AccountFields.id(text)
        let email = try user["email"]?.stringValue.map(Accounts.normalized)
        var values = try Self.values(of: user)
        if let email { values.append(("email", .text(email))) }
        // An account of that id is replaced, as in production.
        if try await accounts.store.account(id: id) == nil {
            _ = try await accounts.store.create(
                id: id, email: email, password: nil, displayName: nil, isManaged: true, now: server.now())
        }
        _ = try await accounts.store.update(id, values)
        for info in user["providerUserInfo"]?.arrayValue ?? [] {
            guard let provider = info["providerId"]?.stringValue, provider != "password",
                let subject = info["rawId"]?.stringValue
            else { continue }
            try await accounts.store.links.remove([provider], from: id)
            try await accounts.store.links.add(
                ProviderLink(
                    provider: provider, subject: subject, email: info["email"]?.stringValue,
                    displayName: info["displayName"]?.stringValue, photoURL: info["photoUrl"]?.stringValue), to: id)
        }
    }

    private func createSessionCookie(_ body: JSONObject) throws -> JSON {
        guard let idToken = body["idToken"]?.stringValue else { throw ToolkitRefusal("MISSING_ID_TOKEN") }
        let duration =
            body["validDuration"].flatMap { $0.stringValue.flatMap { Int64($0) } ?? $0.integerValue } ?? 86_400 * 14
        guard (300...86_400 * 14).contains(duration) else { throw ToolkitRefusal("INVALID_DURATION") }
        let token = try server.authenticator.verify(idToken)
        return ["sessionCookie": .string(try accounts.issuer.cookie(for: token, lifetime: duration, now: server.now()))]
    }

    // MARK: fields

    private func refusePhone(_ body: JSONObject) throws {
        if body["phoneNumber"] != nil || body["mfaInfo"] != nil || body["mfa"] != nil {
            throw ToolkitRefusal(
                "OPERATION_NOT_ALLOWED : This server has no sign-in by phone and no second factors.")
        }
    }

    /// Returns the columns of the fields that creating, changing and importing have in common.
    private static func values(of body: JSONObject) throws -> [(column: String, value: StoredValue)] {
        var values: [(column: String, value: StoredValue)] = []
        if let name = body["displayName"]?.stringValue { values.append(("display_name", .text(name))) }
        if let url = body["photoUrl"]?.stringValue { values.append(("photo_url", .text(url))) }
        if let flag = body["emailVerified"]?.booleanValue { values.append(("email_verified", .bool(flag))) }
        if let flag = (body["disableUser"] ?? body["disabled"])?.booleanValue {
            values.append(("disabled", .bool(flag)))
        }
        if let text = body["customAttributes"]?.stringValue {
            let claims = try AccountFields.customClaims(text: text)
            values.append(("custom_claims", claims.keys.isEmpty ? .null : .text(JSON.object(claims).text)))
        }
        for (field, column) in [("createdAt", "created_at"), ("lastLoginAt", "last_login_at")] {
            guard let value = body[field] else { continue }
            guard let time = value.stringValue.flatMap({ Int64($0) }) ?? value.integerValue, time >= 0 else {
                throw ToolkitRefusal("INVALID_REQUEST : \(field) is not a time.")
            }
            values.append((column, .integer(time)))
        }
        return values
    }
}
