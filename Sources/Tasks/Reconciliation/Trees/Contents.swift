package import DocumentModel

/// The SHA-256 of contents.
package struct ContentDigest: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Creates a digest from four words of 64 bits.
    package init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) { words = (a, b, c, d) }

    /// The first 64 bits, where a shorter hash is enough.
    package var prefix: UInt64 { words.0 }

    package static func == (left: ContentDigest, right: ContentDigest) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}

extension ContentDigest: CustomStringConvertible {
    package var description: String {
        [words.0, words.1, words.2, words.3].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}

/// The contents of a node: everything besides its place and its name.
///
/// Contents are equal if their digests are. Of a task it is the digest of the file that states the
/// fields; of an attachment, that of its bytes; of a list, that of its document's fields, which no
/// file states.
package struct Contents: Hashable, Sendable {
    package var digest: ContentDigest
    /// The fields that a merge needs. Empty for an attachment, which is merged as a whole.
    package var fields: [String: Value]

    package init(digest: ContentDigest, fields: [String: Value] = [:]) {
        self.digest = digest
        self.fields = fields
    }

    package static func == (left: Contents, right: Contents) -> Bool { left.digest == right.digest }

    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

/// A node's place, wanted name, and contents, which all three trees state.
package struct NodeState: Hashable, Sendable {
    /// The list of a task or of a list below it, or the task of an attachment; `nil` for the top.
    package var parent: NodeID?
    /// The name that the node asks for. Its file can have another one: `Name (2).md` if several ask
    /// for `Name`, or one without the characters that no file name can have.
    package var name: FileName
    package var contents: Contents

    package init(parent: NodeID?, name: FileName, contents: Contents) {
        self.parent = parent
        self.name = name
        self.contents = contents
    }
}
