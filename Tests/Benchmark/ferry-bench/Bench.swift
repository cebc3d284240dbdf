import DocumentModel
import Foundation

/// The measures and their sizes.
struct Bench: Sendable {
    enum Measure: String, CaseIterable {
        case commits
        case gets
        case queries
        case listeners
        case initial
        case memory
        case hashing
        case rules
        case engines
        case storm
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let program: String
    let duration: Duration
    let clients: Int
    let documents: Int
    let listeners: Int
    let idle: Int
    let initial: Int

    func run(_ names: [String]) async throws {
        let measures = try names.map { name in
            guard let measure = Measure(rawValue: name) else { throw Failure(description: "There is no \(name).") }
            return measure
        }
        say("measure", "figure", "bar")
        say("---", "---", "---")
        for measure in Measure.allCases where measures.contains(measure) {
            switch measure {
            case .commits: try await measureCommits()
            case .gets: try await measureGets()
            case .queries: try await measureQueries(thenMemory: measures.contains(.memory))
            case .listeners: try await measureListeners()
            case .initial: try await measureInitial()
            case .memory where !measures.contains(.queries): try await measureMemory()
            case .memory: break
            case .hashing: try measureHashing()
            case .rules: try measureRules()
            case .engines: try await measureEngines()
            case .storm: try await measureStorm()
            }
        }
    }

    func say(_ what: String, _ figure: String, _ bar: String = "") {
        FileHandle.standardOutput.write(Data("| \(what) | \(figure) | \(bar) |\n".utf8))
    }

    /// Runs `body` with a fresh server.
    ///
    /// - Parameter database: The URL of its PostgreSQL; nil for documents on SQLite.
    func withServer(
        slowingSyncsBy delay: Int = 0, database: String? = nil, _ body: (LoadServer) async throws -> Void
    ) async throws {
        let server = try LoadServer(program: program, syncDelay: delay, database: database)
        do {
            try await server.start()
            try await body(server)
            await server.stop()
        } catch {
            await server.stop()
            throw error
        }
    }

    // MARK: Documents

    static let database = DatabaseName(project: "ferry")
    /// The number of users. Each has the same number of tasks.
    static let users = 1000

    static func name(_ number: Int, in collection: String = "tasks") throws -> DocumentName {
        // The names are scattered, like the ids that clients create.
        let scattered = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        return try DocumentName(
            database: database, path: "\(collection)/\(String(scattered, radix: 36))x\(String(number, radix: 36))")
    }

    /// Returns the fields of a task as Ferry stores them, with a dozen index entries.
    static func fields(_ number: Int) -> [String: Value] {
        let time = Timestamp(microseconds: 1_700_000_000_000_000 + Int64(number) * 1_000_003)
        return [
            "userId": .string("user-\(number % users)"), "title": .string("Call the plumber about \(number)"),
            "notes": .string("The boiler makes a noise again. Ask for an offer before \(number % 28 + 1) March."),
            "list": .string("list-\(number % 7)"), "priority": .integer(Int64(number % 3)),
            "done": .boolean(number % 5 == 0), "due": .timestamp(time), "createdAt": .timestamp(time),
            "order": .double(Double(number) * 1.5),
            "tags": .array([.string("home"), .string("tag-\(number % 40)")]),
        ]
    }

    static func create(_ number: Int, in collection: String = "tasks") throws -> Write {
        Write(.update(try name(number, in: collection), fields: fields(number)), precondition: .exists(false))
    }

    /// Stores the documents of a range, several hundred in each commit, and returns the number per
    /// second.
    @discardableResult
    func fill(_ range: Range<Int>, on server: LoadServer) async throws -> Double {
        let client = LoadClient(server.address)
        let start = ContinuousClock.now
        let size = 400
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for first in stride(from: range.lowerBound + worker * size, to: range.upperBound, by: 4 * size) {
                        let part = first..<min(first + size, range.upperBound)
                        try await client.commit(try part.map { try Self.create($0) })
                    }
                }
            }
            try await group.waitForAll()
        }
        return Double(range.count) / (ContinuousClock.now - start).inSeconds
    }
}
