import Cryptography
import HTTPMessages
import HTTPServer
import XML

/// Uploads from browsers: forms with a policy that was signed with access keys ("Browser-Based
/// Uploads Using POST", Amazon S3 API Reference).
struct FormResource: Sendable {
    let signatures: SignatureV4
    let objects: ObjectResource

    func post(_ request: HTTPServerRequest, bucket: String) async throws -> HTTPResponse {
        guard let form = FormReader(request) else {
            throw S3Error("MalformedPOSTRequest", "The form has no boundary between its parts.", 400)
        }
        var (fields, fileName) = try await form.fields()
        guard let document = fields["policy"] else { throw S3Error.accessDenied }
        guard let bytes = Base64.decode(document) else {
            throw S3Error("InvalidPolicyDocument", "Invalid Policy: it is not base64.", 400)
        }
        let policy = try PostPolicy(parsing: bytes)
        let credential = try await signatures.authenticate(
            form: fields, policy: document, expires: policy.expiration)
        // Old browsers send the full path of the file.
        let name = fileName.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
        let key = (fields["key"] ?? "").replacing("${filename}", with: name)
        (fields["key"], fields["bucket"]) = (key, bucket)
        guard !key.isEmpty else { throw S3Error.invalidArgument("Bucket POST must contain a field named 'key'.") }
        try policy.check(fields, now: signatures.now())
        try S3Call.check(key: key)
        guard credential.allows(key: key) else { throw S3Error.accessDenied }
        await form.expect(policy.length)

        var headers = HTTPHeaders()
        guard fields["tagging"] == nil else { throw S3Error.notImplemented("The field tagging") }
        if let acl = fields["acl"] { headers.add("x-amz-acl", acl) }
        for (name, value) in fields where Self.isHeader(name) { headers.add(name, value) }
        guard headers.areValid else { throw S3Error.invalidArgument("A field of the form is not a header field.") }
        try RequestHeaderRules.check(headers)
        let call = S3Call(
            request: HTTPServerRequest(
                .put, request.target, headers: headers, body: .stream { try await form.next() }, peer: request.peer,
                isSecure: request.isSecure),
            authentication: AuthenticatedRequest(credential: credential, payload: .unsigned), bucket: bucket, key: key)
        let stored = try await objects.put(call)
        return Self.answer(
            to: fields, stored.headers["ETag"] ?? "", at: "/\(bucket)/\(PercentEncoding.encode(key, keeping: "/"))")
    }

    /// Whether a field corresponds to a header of a put.
    private static func isHeader(_ name: String) -> Bool {
        headers.contains(name) || RequestHeaderRules.isAmazons(name) && !signatureFields.contains(name)
    }

    /// The fields that correspond to headers. Content-Length is missing, because the file's length
    /// is known only at its end.
    private static let headers: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-md5", "content-type",
        "expires",
    ]
    private static let signatureFields: Set<String> = [
        "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-security-token", "x-amz-signature",
    ]

    private static func answer(to fields: [String: String], _ etag: String, at location: String) -> HTTPResponse {
        var headers: HTTPHeaders = ["ETag": etag, "Location": location]
        let (bucket, key) = (fields["bucket"] ?? "", fields["key"] ?? "")
        if let target = (fields["success_action_redirect"] ?? fields["redirect"]).flatMap(redirection) {
            let query = [("bucket", bucket), ("key", key), ("etag", etag)]
                .map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
            headers["Location"] = "\(target)\(target.contains("?") ? "&" : "?")\(query)"
            return HTTPResponse(303, headers: headers)
        }
        switch fields["success_action_status"] {
        case "200": return HTTPResponse(.ok, headers: headers)
        case "201":
            headers["Content-Type"] = "application/xml"
            let body = XMLElement(
                "PostResponse",
                [
                    XMLElement("Location", location), XMLElement("Bucket", bucket), XMLElement("Key", key),
                    XMLElement("ETag", etag),
                ])
            return HTTPResponse(.created, headers: headers, body: .bytes(body.document()))
        default: return HTTPResponse(.noContent, headers: headers)
        }
    }

    /// Returns a URL to redirect a browser to; nil for any other text, which is ignored.
    private static func redirection(_ text: String) -> String? {
        let isURL = ["http://", "https://"].contains {
            text.lowercased().hasPrefix($0) && text.utf8.count > $0.utf8.count
        }
        return isURL && text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) ? text : nil
    }
}

extension SignatureV4 {
    /// Returns the credential whose keys signed the policy of a form.
    ///
    /// - Parameters:
    ///   - policy: The policy in base64, as the form has it.
    ///   - expires: The expiration of the policy, which also ends a Version 2 signature.
    func authenticate(form fields: [String: String], policy: String, expires: Int64) async throws -> S3Credential {
        if let claim = SignatureV2(form: fields, policy: policy, expires: expires) {
            return try await authenticate(claim)
        }
        guard fields["x-amz-algorithm"] == "AWS4-HMAC-SHA256", let credential = fields["x-amz-credential"],
            let date = fields["x-amz-date"], let signature = fields["x-amz-signature"]
        else {
            throw S3Error.invalidArgument(
                "A form needs the fields x-amz-algorithm (AWS4-HMAC-SHA256), x-amz-credential, x-amz-date and x-amz-signature."
            )
        }
        let (accessKey, scope) = try SignatureClaim.split(credential: credential)
        // The policy sets the end of a form's validity. A signature is valid for at most a week,
        // like that of a presigned URL.
        guard let time = SignatureClaim.time(date, scope: scope), (-900...604_800).contains(now() - time) else {
            throw S3Error("AccessDenied", "The date of the form is malformed, too old, or in the future", 403)
        }
        return try await signer(
            accessKey, fields["x-amz-security-token"], scope: scope, signature: signature, of: policy
        ).credential
    }
}
