package import JSON

/// The addresses of a server's parts, which its `GET /.well-known/ferry` returns and the state
/// directory stores.
package struct ServerDescription: Sendable, Hashable {
    /// The URL that the user gave, without a slash at its end.
    package var url: String
    package var project: String
    package var database: String
    /// The documents address, as `host:port`.
    package var documents: String
    package var documentsUseTLS: Bool
    package var objects: String
    package var bucket: String
    package var region: String
    /// Whether the server stores the objects and issues keys for them. Otherwise they are in
    /// another store, and the machine has keys of its own.
    package var keepsObjects: Bool
    /// The URL of the identity server, which also issues storage keys.
    package var identity: String
    /// The identifier of the server's set of accounts; nil if the server does not report it. A
    /// server with an empty directory has another one.
    package var accounts: String?

    /// Creates a description from a discovery document; nil if the document is not one.
    package init?(url: String, discovery json: JSON) {
        guard let project = json["project"]?.stringValue, let database = json["database"]?.stringValue,
            let documents = json["documents"]?["address"]?.stringValue,
            let objects = json["objects"]?["url"]?.stringValue, let bucket = json["objects"]?["bucket"]?.stringValue,
            let identity = json["identity"]?["url"]?.stringValue
        else { return nil }
        self.url = url
        self.project = project
        self.database = database
        self.documents = documents
        documentsUseTLS = json["documents"]?["tls"]?.booleanValue ?? true
        self.objects = objects
        self.bucket = bucket
        region = json["objects"]?["region"]?.stringValue ?? "us-east-1"
        keepsObjects = json["objects"]?["keys"]?.stringValue != "own"
        self.identity = identity
        accounts = json["identity"]?["accounts"]?.stringValue
    }

    /// The server of a machine that has none yet. Nothing is ever sent to it.
    package static let none = ServerDescription()

    private init() {
        (url, project, database, bucket, region) = ("none", "ferry", "(default)", "ferry", "us-east-1")
        // The discard port (RFC 863) of this machine.
        (documents, objects, identity) = ("127.0.0.1:9", "http://127.0.0.1:9", "http://127.0.0.1:9")
        (documentsUseTLS, keepsObjects, accounts) = (false, true, nil)
    }

    /// Creates a description from the JSON that `json` returned.
    package init?(remembered json: JSON) {
        guard let url = json["url"]?.stringValue else { return nil }
        self.init(url: url, discovery: json)
    }

    package var json: JSON {
        var identity: JSONObject = ["url": .string(identity)]
        identity["accounts"] = accounts.map { .string($0) }
        return [
            "version": 1, "url": .string(url), "project": .string(project), "database": .string(database),
            "documents": ["address": .string(documents), "tls": .boolean(documentsUseTLS)],
            "objects": [
                "url": .string(objects), "bucket": .string(bucket), "region": .string(region),
                "keys": keepsObjects ? "sts" : "own",
            ],
            "identity": .object(identity),
        ]
    }

    /// Whether the server is known to have another set of accounts than before.
    package func hasOtherAccounts(than known: ServerDescription) -> Bool {
        guard let accounts, let before = known.accounts else { return false }
        return accounts != before
    }

    /// The description without the parts that do not matter for connections.
    package var parts: ServerDescription {
        var parts = self
        parts.accounts = nil
        return parts
    }

    /// The URL of the bucket.
    package var objectsPlace: String { "\(objects)/\(bucket)" }

    /// Returns the identity of an account's replica.
    ///
    /// The address is not part of it, because a server may move. Ids of accounts are random, and
    /// the lineage shows whether a server has the same data as before.
    package func identity(of userID: String) -> String { "projects/\(project)/databases/\(database) \(userID)" }
}
