import Glibc

/// One of the open streams that a process is started with.
package enum StandardStream: Int32, Sendable {
    case input, output, error

    /// Whether the stream is connected to a terminal.
    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Writes all of the bytes. Returns the number of the error after which the rest was dropped;
    /// nil if there was none.
    @discardableResult
    package func write(_ bytes: UnsafeRawBufferPointer) -> Int32? {
        var rest = bytes
        while let base = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(rawValue, base, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return nil
    }

    /// Writes a text with one call if the stream takes it at once, so that lines of several threads
    /// do not mix.
    @discardableResult
    package func write(_ text: String) -> Int32? {
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }
}
