import Glibc
import HTTPMessages
import HTTPServer
import JSON
import S3Server
import ServerData
import SystemIO

/// The addresses of a running server, which `GET /.well-known/ferry` returns, so that `ferry login`
/// needs only one URL.
struct ServerEndpoints: Sendable {
    let http: ListenAddress
    var documents: ListenAddress
    let isSecure: Bool
    /// The configured addresses at which clients reach the server, if any.
    let published: PublishedAddresses?
    let project: String
    /// The bucket of another store for attachments; nil if the server holds them.
    var objects: ForeignBucket?

    static let region = S3Protocol.region

    /// The server's own URL.
    var url: String { published?.web.description ?? "\(isSecure ? "https" : "http")://\(http)" }

    /// The URL for `ferry login` on other machines. It has the machine's name in place of an address
    /// that stands for all addresses.
    var loginURL: String {
        guard published == nil, http.isAny, let name = Self.hostName else { return url }
        return "\(isSecure ? "https" : "http")://\(name):\(http.port)"
    }

    private static var hostName: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0, buffer[0] != 0 else { return nil }
        return String(validating: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The document for a client.
    ///
    /// Without published addresses it names the host of the client's request. That name works for
    /// the client, whereas `0.0.0.0` or an address behind a NAT would not.
    ///
    /// - Parameter accounts: The identifier of the set of accounts, by which machines notice that
    ///   it is not the one that they signed in to.
    func discovery(for request: HTTPServerRequest, accounts: String) -> JSON {
        let url = url(for: request)
        let (documents, isSecure) = documents(for: request)
        return [
            "version": .string(FerryServerTool.version), "project": .string(project), "database": "(default)",
            "documents": ["address": .string(documents.description), "tls": .boolean(isSecure)],
            "objects": objects(at: url),
            "identity": ["url": .string(url), "accounts": .string(accounts)], "sts": ["url": .string(url)],
        ]
    }

    /// Returns the part about objects. `keys` states where keys come from: from the document's
    /// `sts`, or, for `own`, from the operator of the other store.
    private func objects(at url: String) -> JSON {
        [
            "url": .string(objects?.url ?? url), "bucket": .string(objects?.bucket ?? DataLayout.bucket),
            "region": .string(objects?.region ?? Self.region), "keys": objects == nil ? "sts" : "own",
        ]
    }

    /// Returns the documents address for the client of a request, and whether it uses TLS.
    private func documents(for request: HTTPServerRequest) -> (ListenAddress, Bool) {
        if let published { return (published.documents.address, published.documents.isSecure) }
        var documents = documents
        // A documents port on another address than the HTTP port is not at the host of the request.
        if let host = request.headers["Host"].flatMap(Self.host), documents.isAny || documents.host == http.host {
            documents.host = host.name
        }
        return (documents, isSecure)
    }

    /// Returns the server's URL as the client of a request knows it.
    func url(for request: HTTPServerRequest) -> String {
        guard published == nil, let host = request.headers["Host"].flatMap(Self.host) else { return url }
        return "\(isSecure ? "https" : "http")://\(host.authority)"
    }

    /// Returns the name in a `Host` header without brackets, and the whole header; nil if it is
    /// malformed.
    private static func host(_ header: String) -> (name: String, authority: String)? {
        guard let address = ListenAddress(header) ?? ListenAddress("\(header):0") else { return nil }
        guard address.isName else { return nil }
        return (address.host, header)
    }
}
