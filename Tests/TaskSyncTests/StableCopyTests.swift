import SystemIO
import Testing

@testable import TaskSync

/// Files that change while they are copied.
struct StableCopyTests {
    private static let whole = [UInt8](repeating: 1, count: 3 << 20)

    /// The copy of a file of 3 MiB, to which something is done after each block that was read.
    private func copy(_ change: (_ file: borrowing FileDescriptor, _ block: Int) throws -> Void) throws -> [UInt8] {
        let directory = "/tmp/ferry-copy-\(SystemRandom.hex(8))"
        try FileSystem.makeDirectories(directory, mode: 0o700)
        defer { try? FileSystem.removeTree(directory) }
        let source = try FileDescriptor(path: "\(directory)/source", [.readWrite, .create], mode: 0o600)
        let target = try FileDescriptor(path: "\(directory)/target", [.readWrite, .create], mode: 0o600)
        let clock = try FileDescriptor(path: "\(directory)/clock", [.readWrite, .create], mode: 0o600)
        try source.write(Self.whole, at: 0)
        var block = 0
        try StableCopy.copy(source, to: target) {
            block += 1
            // The times of files go on in steps of up to 10 ms: what is changed now is to have a later one.
            repeat { try clock.write([0], at: 0) } while try clock.status().changed == source.status().changed
            try change(source, block)
        }
        return try target.read(8 << 20, at: 0)
    }

    @Test func `a file at rest is copied`() throws { #expect(try copy { _, _ in } == Self.whole) }

    @Test func `a file that is cut off while it is read is copied as it is then`() throws {
        let copied = try copy { file, block in if block == 2 { try file.truncate(to: 1000) } }
        #expect(copied == Array(Self.whole.prefix(1000)))
    }

    @Test func `a file that is written anew while it is read is never half the old one and half the new one`() throws {
        let copied = try copy { file, block in
            if block == 1 { try file.write([UInt8](repeating: 2, count: 3 << 20), at: 0) }
        }
        #expect(copied == [UInt8](repeating: 2, count: 3 << 20))
    }

    @Test func `a log that grows all the time is copied as far as it went`() throws {
        let copied = try copy { file, block in
            try file.write([UInt8](repeating: 3, count: 1000), at: 3 << 20 + Int64(block) * 1000)
        }
        #expect(copied == Self.whole)
    }

    @Test func `a file that changes every time is refused`() throws {
        #expect(throws: TaskSyncError.self) {
            try copy { file, block in try file.write([UInt8(block)], at: 0) }
        }
    }
}
