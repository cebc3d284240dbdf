import Synchronization
import SystemIO

/// An open file that several closures share.
final class OpenFile: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}

/// The offset up to which a file has been read.
final class Position: Sendable {
    private let offset: Mutex<Int64>

    init(_ offset: Int64) { self.offset = Mutex(offset) }

    /// Returns the next range to read and moves behind it; empty at the end.
    func advance(by length: Int64, upTo end: Int64) -> Range<Int64> {
        offset.withLock { offset in
            let start = offset
            offset = max(start, min(end, start + length))
            return start..<offset
        }
    }
}

extension ObjectStorageError {
    init(_ error: SystemError) {
        let code: Code =
            switch error.code {
            case .notFound, .notDirectory: .notFound
            case .notPermitted, .readOnly: .permission
            case .noSpace: .full
            case .invalidName, .leavesRoot, .tooLarge, .isDirectory, .unsupported: .invalid
            default: error.isTransient ? .transient : .unavailable
            }
        self.init(code, error.message, cause: error)
    }
}
