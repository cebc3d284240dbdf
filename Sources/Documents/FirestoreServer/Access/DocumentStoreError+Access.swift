package import DocumentStore

extension DocumentStoreError {
    package static let unauthenticated = DocumentStoreError(.unauthenticated, "Missing or invalid authentication.")
    package static let permissionDenied = DocumentStoreError(
        .permissionDenied, "Missing or insufficient permissions.")
    static let tokenExpired = DocumentStoreError(
        .unauthenticated, "The ID token has expired. Get a fresh one and try again.")
}
