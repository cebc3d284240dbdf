import Glibc

/// The process's environment.
enum Environment {
    /// nil where it is not set or empty.
    static subscript(name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}
