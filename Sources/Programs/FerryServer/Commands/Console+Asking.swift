import Glibc
import SystemIO

extension Console {
    /// The first line of standard input, at most 4 KiB, without its end.
    func readLineOfInput() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 4096 {
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Asks for a line on the terminal. nil: it is empty, or there is no terminal.
    func ask(_ question: String) -> String? {
        guard StandardStream.input.isTerminal else { return nil }
        StandardStream.error.write(question)
        let line = readLineOfInput().trimmingPrefix { $0 == " " }
        return line.isEmpty ? nil : String(line)
    }

    /// Asks a question on the terminal. nil: there is no terminal.
    func confirm(_ question: String) -> Bool? {
        guard StandardStream.input.isTerminal else { return nil }
        StandardStream.error.write("\(question) [y/N] ")
        return ["y", "yes"].contains(readLineOfInput().lowercased())
    }
}
