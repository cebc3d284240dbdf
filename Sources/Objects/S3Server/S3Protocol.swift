/// The constants of the protocol.
package enum S3Protocol {
    /// The namespace of the answers.
    static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

    /// The region of all buckets.
    package static let region = "us-east-1"

    /// The most bytes of an object, whether put whole or in parts.
    static let objectLimit: Int64 = 5 << 40
}
