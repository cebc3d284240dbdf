import Glibc
import SystemIO
import SystemTestKit
import Testing

@testable import ObjectStorage

/// Files of which long parts are zero, as disk images are.
@Suite struct HoleTests {
    private let unit = 64 << 10

    @Test func `a file with holes takes no more of the disk where it comes to`() async throws {
        let directory = try TemporaryDirectory()
        let memory = MemoryObjectStore()
        let namespace = try ObjectNamespace(user: "alice")
        let content =
            Noise.bytes(1000) + [UInt8](repeating: 0, count: 24 << 20) + Noise.bytes(unit)
            + [UInt8](repeating: 0, count: 9 << 20)
        let upload = UploadTask(File(name: "f", bytes: content), to: memory, namespace: namespace)
        upload.start()
        let file = try await upload.outcome
        let path = directory.path + "/got"
        let download = DownloadTask(file.manifest, to: path, from: memory, namespace: namespace)
        download.start()
        _ = try await download.outcome
        #expect(try FileSystem.read(path) == content)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_size == content.count)
        #expect(status.st_blocks * 512 < 1 << 20, "\(status.st_blocks) blocks")
    }

    @Test func `what an earlier run has left is written over, also with zeros`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/partial"
        try FileSystem.replace(path, with: Noise.bytes(4 * unit))
        let file = try PartialFile(path: path, size: Int64(4 * unit))
        try file.write([UInt8](repeating: 0, count: 4 * unit)[...], at: 0)
        #expect(try FileSystem.read(path) == [UInt8](repeating: 0, count: 4 * unit))
    }

    @Test func `only whole units of zeros are left out`() {
        func runs(_ bytes: [UInt8]) -> [Range<Int>] { bytes.withUnsafeBytes { Array(SparseRuns($0)) } }
        let (zeros, ones) = ([UInt8](repeating: 0, count: unit), [UInt8](repeating: 1, count: unit))
        #expect(runs([]) == [])
        #expect(runs(zeros) == [])
        #expect(runs(Array(zeros.dropLast())) == [0..<(unit - 1)])
        #expect(runs(ones + zeros + zeros + ones + [0, 0]) == [0..<unit, (3 * unit)..<(4 * unit + 2)])
        #expect(runs(zeros + Array(zeros.dropLast()) + [1]) == [unit..<(2 * unit)])
    }
}
