import Cryptography
import Foundation
import ObjectStorage

/// The speed of one processor for each operation on the bytes of an attachment, next to the speed
/// that OpenSSL reports in the same minute.
extension Bench {
    private static let block = 256 << 10

    func measureHashing() throws {
        var generator = SystemRandomNumberGenerator()
        // 16 MiB, in the pieces in which files are read.
        let blocks = (0..<64).map { _ in
            (0..<Self.block / 8).flatMap { _ in
                withUnsafeBytes(of: generator.next()) { Array($0) }
            }
        }
        var (cuts, hashes, lanes, ratios): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for _ in 0..<5 {
            let reference = try opensslRate()
            let rate = self.rate(of: blocks) { blocks in
                var hash = SHA256()
                for block in blocks { hash.update(block) }
                return hash.finish()
            }
            ratios.append(rate / reference)
            hashes.append(rate)
            lanes.append(
                self.rate(of: blocks) { blocks in
                    SHA256.hash(each: blocks.map { $0[...] })
                })
            cuts.append(self.rate(of: blocks) { Self.places(in: $0) })
        }
        say("where chunks end, one processor", "\(median(cuts).text(2)) GiB/s", "≥ 1 GiB/s")
        say(
            "SHA-256, one processor", "\(median(hashes).text(2)) GiB/s, \(median(ratios).text(2)) of `openssl speed`",
            "≥ 0.90 of it")
        say("SHA-256 of messages side by side, one processor", "\(median(lanes).text(2)) GiB/s")
    }

    private static func places(in blocks: [[UInt8]]) -> Int {
        var chunker = Chunker()
        var count = 0
        for block in blocks {
            block.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while let cut = chunker.boundary(in: UnsafeRawBufferPointer(rebasing: rest)) {
                    rest = rest.dropFirst(cut)
                    count += 1
                }
            }
        }
        return count
    }

    /// Returns the speed in GiB per second. `body` must return the same value each time; otherwise
    /// the compiler could drop the computation.
    private func rate<Answer: Equatable>(of blocks: [[UInt8]], _ body: ([[UInt8]]) -> Answer) -> Double {
        let expected = body(blocks)
        let start = ContinuousClock.now
        var passes = 0
        while ContinuousClock.now - start < .seconds(1) {
            precondition(body(blocks) == expected)
            passes += 1
        }
        let bytes = Double(passes * blocks.count * Self.block)
        return bytes / (ContinuousClock.now - start).inSeconds / Double(1 << 30)
    }

    private func opensslRate() throws -> Double {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["speed", "-mr", "-seconds", "1", "-bytes", "\(Self.block)", "-evp", "sha256"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        // openssl ends by an alarm, a signal that Swift's threads block for themselves and for the
        // programs that they start.
        var alarm = sigset_t()
        sigemptyset(&alarm)
        sigaddset(&alarm, SIGALRM)
        pthread_sigmask(SIG_UNBLOCK, &alarm, nil)
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        // The line of results is "+F:…:sha256:bytes per second".
        let line = text.split(separator: "\n").last { $0.hasPrefix("+F:") }
        guard let rate = line?.split(separator: ":").last.flatMap({ Double($0) }) else {
            throw Failure(description: "`openssl speed` gave no rate; it is in Debian's package openssl.")
        }
        return rate / Double(1 << 30)
    }

    func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
