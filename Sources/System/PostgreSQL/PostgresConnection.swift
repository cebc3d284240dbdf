import CPQ
import Glibc

/// A connection to PostgreSQL, always in libpq's pipeline mode. Used on one thread at a time.
///
/// Statements are prepared at first use. `run` sends several at once and waits for the results of
/// all, which takes one round trip.
///
/// `@unchecked Sendable`: a connection moves between threads only together with the work that uses
/// it.
package final class PostgresConnection: @unchecked Sendable {
    private enum Expected {
        case preparation
        case rows
    }

    private let connection: OpaquePointer
    private var names: [String: String] = [:]
    /// The results that the server owes, up to each synchronization.
    private var outstanding: [[Expected]] = []
    private(set) package var isBroken = false
    /// The time to wait for each result, after which the connection is lost; nil if there is no limit.
    var answerTimeout: Duration?

    /// The maximum number of prepared statements. Beyond it, further ones are sent whole.
    private static let statementLimit = 500

    /// Connects, and waits until that has succeeded or failed.
    ///
    /// - Parameter failed: The host to try last, which was the server until now.
    package init(_ configuration: PostgresConfiguration, after failed: PostgresHost? = nil) throws(PostgresError) {
        let keywords = configuration.keywords(after: failed)
        guard
            let made = Self.withCStrings(
                keywords.map(\.name),
                { names in
                    Self.withCStrings(keywords.map(\.value)) { PQconnectdbParams(names, $0, 1) }
                })
        else { throw PostgresError("There is no memory for a connection.") }
        guard PQstatus(made) == CONNECTION_OK else {
            let message = Self.message(made)
            PQfinish(made)
            throw PostgresError(message)
        }
        PQsetNoticeProcessor(made, { _, _ in }, nil)
        guard PQenterPipelineMode(made) == 1 else {
            PQfinish(made)
            throw PostgresError("The connection does not enter pipeline mode.")
        }
        connection = made
    }

    deinit { PQfinish(connection) }

    /// The server, as the URL names it.
    var host: PostgresHost {
        let name = PQhost(connection).map { String(cString: $0) } ?? ""
        return PostgresHost(name: name, port: PQport(connection).map { String(cString: $0) } ?? "")
    }

    /// Cancels the statement that the connection is running, from any thread.
    package func canceller() -> PostgresCanceller? { PQgetCancel(connection).map(PostgresCanceller.init) }

    // MARK: Statements

    /// Runs one statement.
    @discardableResult
    package func run(_ sql: String, _ values: [PostgresValue] = []) throws(PostgresError) -> PostgresResult {
        let results = try run([PostgresStatement(sql, values)])
        guard let result = results.last else { throw PostgresError("The server did not answer.") }
        return result
    }

    /// Runs statements in order, and returns the result of each.
    ///
    /// After an error the rest is not run. Statements outside a transaction form one.
    package func run(_ statements: [PostgresStatement]) throws(PostgresError) -> [PostgresResult] {
        try send(statements)
        return try receive()
    }

    /// Sends statements without waiting for their results, which the next `run` discards, or throws
    /// if they are errors.
    package func send(_ statements: [PostgresStatement]) throws(PostgresError) {
        guard !isBroken else { throw PostgresError("The connection was lost.") }
        var expected: [Expected] = []
        var fresh: [String] = []
        for statement in statements {
            var name = names[statement.sql]
            if name == nil, names.count < Self.statementLimit {
                let new = "s\(names.count)"
                let types = statement.values.map(\.type)
                try check(PQsendPrepare(connection, new, statement.sql, Int32(types.count), types))
                expected.append(.preparation)
                names[statement.sql] = new
                fresh.append(statement.sql)
                name = new
            }
            try send(statement, name)
            expected.append(.rows)
        }
        try check(PQpipelineSync(connection))
        outstanding.append(expected)
        freshNames.append(fresh)
    }

    /// The statements that were prepared with each outstanding synchronization.
    private var freshNames: [[String]] = []

    private func send(_ statement: PostgresStatement, _ name: String?) throws(PostgresError) {
        let values = statement.values.map(\.encoded)
        let lengths = values.map { Int32(clamping: $0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        let types = statement.values.map(\.type)
        let sent = Self.withPointers(values) { pointers in
            if let name {
                PQsendQueryPrepared(connection, name, Int32(values.count), pointers, lengths, formats, 1)
            } else {
                PQsendQueryParams(
                    connection, statement.sql, Int32(values.count), types, pointers, lengths, formats, 1)
            }
        }
        try check(sent)
    }

    /// Receives everything that is outstanding, and returns the results of the last call of `send`.
    private func receive() throws(PostgresError) -> [PostgresResult] {
        var results: [PostgresResult] = []
        var failure: PostgresError?
        while !outstanding.isEmpty {
            let expected = outstanding.removeFirst()
            let fresh = freshNames.removeFirst()
            results = []
            var hasFailed = false
            for kind in expected {
                let (result, error) = try next()
                if let error {
                    failure = failure ?? error
                    hasFailed = true
                }
                if kind == .rows, let result { results.append(result) }
            }
            // Which of them were prepared before the error is unknown.
            if hasFailed { for sql in fresh { try forget(sql) } }
            try receiveSynchronization()
        }
        if let failure { throw failure }
        return results
    }

    /// A statement whose preparation may have failed gets another name at its next use.
    private func forget(_ sql: String) throws(PostgresError) {
        guard let name = names.removeValue(forKey: sql) else { return }
        // The name stays taken, so that the next statement does not get it.
        names["-- \(name)"] = name
    }

    /// Receives the result of one statement, and the null that follows it.
    private func next() throws(PostgresError) -> (PostgresResult?, PostgresError?) {
        guard let result = try nextResult() else { throw lost() }
        let status = PQresultStatus(result)
        var answer: (PostgresResult?, PostgresError?)
        switch status {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: answer = (PostgresResult(result), nil)
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
            answer = (nil, nil)
        default:
            answer = (nil, Self.error(result))
            PQclear(result)
            if PQstatus(connection) != CONNECTION_OK {
                isBroken = true
                throw answer.1 ?? PostgresError("The connection was lost.")
            }
        }
        while let more = try nextResult() { PQclear(more) }
        return answer
    }

    private func receiveSynchronization() throws(PostgresError) {
        guard let result = try nextResult() else { throw lost() }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else {
            isBroken = true
            throw Self.error(result)
        }
    }

    /// Waits for the next result; nil at the end of a statement's.
    private func nextResult() throws(PostgresError) -> OpaquePointer? {
        if let answerTimeout {
            let limit = Int32(clamping: Int64(answerTimeout / .milliseconds(1)))
            while PQisBusy(connection) == 1 {
                var socket = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
                let ready = poll(&socket, 1, limit)
                if ready < 0, errno == EINTR { continue }
                guard ready > 0 else {
                    isBroken = true
                    throw PostgresError("The server did not answer for \(limit / 1000) seconds.")
                }
                guard PQconsumeInput(connection) == 1 else { throw lost() }
            }
        }
        return PQgetResult(connection)
    }

    // MARK: Errors

    private func check(_ code: Int32) throws(PostgresError) { if code != 1 { throw lost() } }

    private func lost() -> PostgresError {
        isBroken = true
        return PostgresError(Self.message(connection))
    }

    private static func message(_ connection: OpaquePointer) -> String {
        let text = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        return oneLine(text.isEmpty ? "The connection was lost." : text)
    }

    private static func error(_ result: OpaquePointer) -> PostgresError {
        let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        let text = PQresultErrorField(result, Int32(UInt8(ascii: "M"))) ?? PQresultErrorMessage(result)
        return PostgresError(state: state, oneLine(text.map { String(cString: $0) } ?? ""))
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    // MARK: Pointers

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result?
    ) -> Result? {
        withPointers(strings.map { Array($0.utf8) + [0] } + [nil]) { pointers in pointers.flatMap(body) }
    }

    /// Runs `body` with a pointer to each value, null for nil. An empty value has a pointer too.
    private static func withPointers<Result>(
        _ values: [[UInt8]?], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let total = values.reduce(0) { $0 + ($1?.count ?? 0) + 1 }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: max(1, total)) { memory in
            var pointers: [UnsafePointer<CChar>?] = []
            pointers.reserveCapacity(values.count)
            var start = 0
            for value in values {
                guard let value, let base = memory.baseAddress else {
                    pointers.append(nil)
                    continue
                }
                for (offset, byte) in value.enumerated() { memory[start + offset] = CChar(bitPattern: byte) }
                memory[start + value.count] = 0
                pointers.append(UnsafePointer(base + start))
                start += value.count + 1
            }
            return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }
}

/// Cancels what a connection is running.
///
/// `@unchecked Sendable`: libpq's object is immutable.
package final class PostgresCanceller: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQfreeCancel(pointer) }

    /// Asks the server to cancel the statement that is running, if any. Must not be used around a
    /// COMMIT: a commit whose wait for a standby is cancelled becomes visible without it.
    package func cancel() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            _ = PQcancel(pointer, message.baseAddress, Int32(message.count))
        }
    }
}
