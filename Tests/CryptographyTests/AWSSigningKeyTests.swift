import Cryptography
import Testing

struct AWSSigningKeyTests {
    /// The example of "Create a signed AWS API request", AWS Identity and Access Management User Guide.
    @Test func `the key of Amazon's example is derived`() {
        let key = AWSSigningKey.derive(
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", scope: "20150830/us-east-1/iam/aws4_request")
        #expect(Hex.encode(key) == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9")
    }
}
