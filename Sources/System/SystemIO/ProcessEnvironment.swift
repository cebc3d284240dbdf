import Glibc

/// The environment variables of the process.
package enum ProcessEnvironment {
    /// The value of a variable. An empty value counts as none.
    package static subscript(name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}
