import Synchronization

/// Logs faults of calls. The same fault is logged once a minute at most: when a disk is full, every call of
/// every client fails.
package final class FaultLog: Sendable {
    private let logger: Logger
    private let message: String
    /// When each text was last written.
    private let told = Mutex<[String: ContinuousClock.Instant]>([:])

    package init(_ logger: Logger, _ message: String) {
        self.logger = logger
        self.message = message
    }

    package func note(_ error: any Error) {
        let (text, now) = ("\(error)", ContinuousClock.now)
        let isNew = told.withLock { told in
            if let last = told[text], now - last < Self.interval { return false }
            if told.count >= Self.limit { told = [:] }
            told[text] = now
            return true
        }
        if isNew { logger.error(message, ["error": text]) }
    }

    private static let interval = Duration.seconds(60)
    /// Texts that are remembered.
    private static let limit = 1000
}
