import Glibc

/// Standard output and error of a command.
struct Console: Sendable {
    /// A line of data.
    func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// A line of chatter or an error.
    func note(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    private func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
