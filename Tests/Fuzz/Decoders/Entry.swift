import Glibc

/// The entry point of libFuzzer. The environment variable FERRY_FUZZ names the decoder that gets
/// the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    chosen(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}

/// The decoders of all bytes that come from a disk, a socket, or a network.
///
/// No decoder may trap on any input, and a value that was decoded must be equal after it was
/// encoded and decoded again.
private let decoders: [String: @Sendable ([UInt8]) -> Void] = [
    "messages": decodeMessage,
    "rest-json": decodeREST,
    "names": decodeNames,
    "tokens": decodeTokens,
    "stored-keys": decodeStoredKeys,
    "journal": decodeJournal,
    "task-file": decodeTaskFile,
    "task-document": decodeTaskDocument,
    "todo-txt": decodeTodoLine,
    "chunk": decodeChunk,
    "manifest": decodeManifest,
    "archive": decodeArchive,
    "control-json": decodeControl,
    "s3-xml": decodeXML,
    "s3-signature": decodeSignature,
    "s3-chunked-body": decodeChunkedBody,
    "s3-form": decodeForm,
    "s3-policy": decodePolicy,
    "web-token": decodeWebToken,
    "json": decodeJSON,
    "yaml": decodeYAML,
    "http": decodeHTTP,
    "http-response": decodeResponse,
    "grpc": decodeCall,
    "rules": decodeRules,
    "http-connection": decodeHTTPConnection,
    "grpc-connection": decodeGRPCConnection,
]

private let chosen: @Sendable ([UInt8]) -> Void = {
    let name = getenv("FERRY_FUZZ").map { String(cString: $0) } ?? ""
    guard let decoder = decoders[name] else {
        print("FERRY_FUZZ must be one of: \(decoders.keys.sorted().joined(separator: " "))")
        exit(2)
    }
    return decoder
}()

/// Ends the run if a decoder did not trap but gave a wrong result.
func check(_ holds: Bool, _ what: @autoclosure () -> String) {
    guard !holds else { return }
    // Standard output would not be flushed.
    _ = "wrong: \(what())\n".withCString { write(STDERR_FILENO, $0, strlen($0)) }
    abort()
}
