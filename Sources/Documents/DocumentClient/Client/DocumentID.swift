package import SystemIO

/// Generates ids for new documents.
public enum DocumentID {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Returns 20 random letters and digits, as the official clients do.
    public static func make() -> String {
        make(in: .system)
    }

    /// Returns an id generated with the randomness of `environment`.
    package static func make(in environment: Environment) -> String {
        var random = environment
        return make(using: &random)
    }

    static func make(using random: inout some RandomNumberGenerator) -> String {
        String(
            decoding: (0..<20).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] }, as: UTF8.self)
    }
}
