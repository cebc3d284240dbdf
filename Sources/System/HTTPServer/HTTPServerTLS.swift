/// Certificate chain and private key as PEM text.
package struct HTTPServerTLS: Sendable {
    package var certificates: String
    package var key: String

    package init(certificates: String, key: String) {
        self.certificates = certificates
        self.key = key
    }
}
