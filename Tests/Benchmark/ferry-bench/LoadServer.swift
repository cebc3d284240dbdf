import Foundation

/// A `ferry-server` in emulator mode with a data directory of its own, which `stop` removes.
final class LoadServer {
    private let program: String
    private let syncDelay: Int
    private let database: String?
    private let directory: String
    private var process: Process?
    /// The host and port of the documents.
    private(set) var address = ""

    /// Creates a server that is not started.
    ///
    /// - Parameters:
    ///   - syncDelay: The milliseconds that each sync to the disk is delayed.
    ///   - database: The URL of a PostgreSQL database for the documents; nil for SQLite.
    init(program: String, syncDelay: Int, database: String? = nil) throws {
        self.program = program
        self.syncDelay = syncDelay
        self.database = database
        directory = NSTemporaryDirectory() + "ferry-bench-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    /// Starts the server, and returns when it responds.
    func start() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "run", "--emulator", "--data", directory + "/data", "--http", "127.0.0.1:0", "--documents", "127.0.0.1:0",
            // All machines have one address here.
            "--trusted-proxy", "127.0.0.1",
        ]
        if let database { process.arguments?.append(contentsOf: ["--database", database]) }
        var environment = ProcessInfo.processInfo.environment
        if syncDelay > 0 {
            environment["LD_PRELOAD"] = try slowSync()
            environment["FERRY_SYNC_MS"] = "\(syncDelay)"
        }
        process.environment = environment
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        var text = ""
        while !text.contains("\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw Bench.Failure(description: "\(program) ended by itself.") }
            text += String(decoding: data, as: UTF8.self)
        }
        // The line is "ready URL documents ADDRESS".
        address = text.split(whereSeparator: \.isWhitespace).dropFirst(3).first.map(String.init) ?? ""
    }

    /// Ends the server in an orderly way and starts it again on the same data.
    func restart() async throws {
        end()
        try await start()
    }

    func stop() async {
        end()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func end() {
        process?.terminate()
        process?.waitUntilExit()
        process = nil
    }

    /// The resident memory in MiB.
    var memory: Double { value("VmRSS:", in: "status") / 1024 }

    /// The MiB written to the disk so far, from `write_bytes` in proc_pid_io(5).
    var written: Double { value("write_bytes:", in: "io") / 1_048_576 }

    /// The maximum resident memory in MiB since `forgetPeak`.
    var peakMemory: Double { value("VmHWM:", in: "status") / 1024 }

    func forgetPeak() {
        guard let process else { return }
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(process.processIdentifier)/clear_refs"))
    }

    /// The seconds of processor time that the server's threads have used.
    var processorTime: Double {
        let fields = file("stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Waits until the server has updated its indexes and is almost idle.
    func rest() async throws {
        var before = -1.0
        while processorTime - before > 0.02 {
            before = processorTime
            try await Task.sleep(for: .seconds(2))
        }
    }

    /// The seconds of processor time that this program has used.
    static var ownProcessorTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) * 1e-6 }
    }

    /// The size of the data directory in MiB.
    var diskUse: Double {
        let files = FileManager.default.enumerator(atPath: directory)
        var bytes = 0
        while let name = files?.nextObject() as? String {
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
            bytes += (attributes?[.size] as? Int) ?? 0
        }
        return Double(bytes) / 1_048_576
    }

    private func file(_ name: String) -> String {
        guard let process else { return "" }
        return (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/\(name)", encoding: .utf8)) ?? ""
    }

    private func value(_ key: String, in name: String) -> Double {
        let line = file(name).split(separator: "\n").first { $0.hasPrefix(key) }
        let number = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        return number.flatMap { Double($0) } ?? 0
    }

    /// Compiles `slow-sync.c`, which is next to this program's sources.
    private func slowSync() throws -> String {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("slow-sync.c")
        let library = directory + "/slow-sync.so"
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["cc", "-O2", "-shared", "-fPIC", "-o", library, source.path]
        try compiler.run()
        compiler.waitUntilExit()
        guard compiler.terminationStatus == 0 else { throw Bench.Failure(description: "cc failed.") }
        return library
    }
}
