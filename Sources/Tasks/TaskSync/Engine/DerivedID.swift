import Cryptography
import DocumentClient

extension DocumentID {
    /// Returns 20 letters and digits that are the same on every machine for the same words, so that
    /// two machines that create the same thing at the same time create one.
    static func derived(from words: String) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let digest = SHA256.hash(words).bytes
        return String(decoding: digest.prefix(20).map { letters[Int($0) % letters.count] }, as: UTF8.self)
    }
}
