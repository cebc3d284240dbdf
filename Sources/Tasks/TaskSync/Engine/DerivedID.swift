import Cryptography
import DocumentClient

extension DocumentID {
    /// The same 20 letters and digits on every machine for what goes by the same words: two of them
    /// that make it before they have heard of each other make one.
    static func derived(from words: String) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let digest = SHA256.hash(words).bytes
        return String(decoding: digest.prefix(20).map { letters[Int($0) % letters.count] }, as: UTF8.self)
    }
}
