/// Bounds on what an XML document may hold.
package struct XMLLimits: Sendable {
    /// The maximum size of the document in bytes.
    package var bytes: Int
    /// The maximum nesting depth of elements, including the root.
    package var depth: Int
    /// The maximum number of elements. The longest document that S3 accepts lists the 10,000 parts
    /// of an upload.
    package var elements: Int

    package init(bytes: Int = 16 << 20, depth: Int = 16, elements: Int = 100_000) {
        self.bytes = bytes
        self.depth = depth
        self.elements = elements
    }
}
