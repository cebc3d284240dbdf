/// Bounds on what an XML document may hold.
package struct XMLLimits: Sendable {
    /// The document's bytes.
    package var bytes: Int
    /// The levels of elements inside one another, the root included.
    package var depth: Int
    /// The elements in total. The longest document that S3 takes lists 10,000 parts of an upload.
    package var elements: Int

    package init(bytes: Int = 16 << 20, depth: Int = 16, elements: Int = 100_000) {
        self.bytes = bytes
        self.depth = depth
        self.elements = elements
    }
}
