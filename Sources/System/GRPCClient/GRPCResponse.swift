package import GRPCProtocol

/// The answer to a unary call.
package struct GRPCResponse: Sendable {
    package let message: [UInt8]
    package let headers: GRPCMetadata
    package let trailers: GRPCMetadata
}
