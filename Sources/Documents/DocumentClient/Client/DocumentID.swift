package import SystemIO

/// Ids for documents that nobody named.
public enum DocumentID {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// 20 letters and digits from the system's randomness, as the official clients make them.
    public static func make() -> String {
        make(in: .system)
    }

    /// The same with the randomness of `surroundings`.
    package static func make(in surroundings: Surroundings) -> String {
        var random = surroundings
        return make(using: &random)
    }

    static func make(using random: inout some RandomNumberGenerator) -> String {
        String(
            decoding: (0..<20).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] }, as: UTF8.self)
    }
}
