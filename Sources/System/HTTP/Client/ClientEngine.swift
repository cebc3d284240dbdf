import CCurl
import Synchronization
import SystemIO

/// The thread that owns libcurl's multi handle. Everyone else leaves commands and wakes it.
///
/// `@unchecked Sendable`: `multi`, the handles in it and `touched` are used by the thread alone, except for
/// `curl_multi_wakeup`, which is made for other threads, and the last release, when the thread is gone.
final class ClientEngine: @unchecked Sendable {
    enum Command: Sendable {
        case start(Transfer)
        case cancel(Transfer)
        /// The transfer can take or give more bytes again.
        case unpause(Transfer)
    }

    private struct State {
        var commands: [Command] = []
        var isRunning = false
        var isStopping = false
    }

    let configuration: HTTPClient.Configuration
    private let multi: UnsafeMutableRawPointer?
    private let state = Mutex(State())
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Reset, for the next transfers: making one takes longer than to reset it.
    private var spareHandles: [UnsafeMutableRawPointer] = []
    private static let sparesAtMost = 16

    /// Transfers that received bytes in this round.
    var touched: [Transfer] = []

    init(_ configuration: HTTPClient.Configuration) {
        self.configuration = configuration
        multi = Self.libraryIsReady ? curl_multi_init() : nil
        _ = ferry_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, configuration.idleConnections))
        _ = ferry_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(0, configuration.connectionsPerHost))
    }

    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    deinit {
        spareHandles.forEach { curl_easy_cleanup($0) }
        curl_multi_cleanup(multi)
    }

    /// For a transfer, on the engine's thread; nil where libcurl has none.
    func takeHandle() -> UnsafeMutableRawPointer? { spareHandles.popLast() ?? curl_easy_init() }

    /// Takes a handle back that is in no use, on the engine's thread.
    func give(_ handle: UnsafeMutableRawPointer) {
        guard spareHandles.count < Self.sparesAtMost else { return curl_easy_cleanup(handle) }
        curl_easy_reset(handle)
        spareHandles.append(handle)
    }

    /// Starts the thread as well, the first time.
    func start(_ transfer: Transfer) throws {
        guard multi != nil else { throw HTTPError(.stopped, "libcurl could not be started.") }
        let mustRun = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustRun {
            do {
                try WorkerThread.start(named: "http-client") { self.run() }
            } catch {
                state.withLock { $0.isRunning = false }
                throw HTTPError(.stopped, "The system gave no thread for HTTP requests.", cause: error)
            }
        }
        post(.start(transfer))
    }

    func post(_ command: Command) {
        let isFirst = state.withLock { state in
            state.commands.append(command)
            return state.commands.count == 1
        }
        if isFirst { curl_multi_wakeup(multi) }
    }

    /// Ends the thread; transfers that are still under way fail.
    func stop() {
        state.withLock { $0.isStopping = true }
        curl_multi_wakeup(multi)
    }

    private func run() {
        while true {
            let (commands, isStopping) = state.withLock { state in
                defer { state.commands = [] }
                return (state.commands, state.isStopping)
            }
            commands.forEach(perform)
            if isStopping {
                for transfer in transfers.values {
                    remove(transfer)
                    transfer.finish(HTTPError(.stopped, "The HTTP client was closed."))
                }
                return
            }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            var left: Int32 = 0
            while let message = curl_multi_info_read(multi, &left) {
                guard message.pointee.msg == CURLMSG_DONE, let transfer = transfers[message.pointee.easy_handle] else {
                    continue
                }
                let result = ferry_curl_message_result(message)
                transfer.complete(result)
                remove(transfer)
            }
            // Delivering can let a resting transfer go on, which then receives what libcurl held back for it.
            while let transfer = touched.popLast() { transfer.deliver() }
            // Without transfers only a wake-up ends this; the limit is merely the largest that fits.
            curl_multi_poll(multi, nil, 0, Int32.max, nil)
        }
    }

    private func perform(_ command: Command) {
        switch command {
        case .start(let transfer):
            guard !transfer.isFinished else { return }
            guard let easy = transfer.open(), curl_multi_add_handle(multi, easy) == CURLM_OK else {
                transfer.close()
                transfer.finish(HTTPError(.stopped, "libcurl refused a request."))
                return
            }
            transfers[easy] = transfer
        case .cancel(let transfer): remove(transfer)
        case .unpause(let transfer): transfer.unpause()
        }
    }

    private func remove(_ transfer: Transfer) {
        guard let easy = transfer.easy, transfers.removeValue(forKey: easy) != nil else { return }
        curl_multi_remove_handle(multi, easy)
        transfer.close()
    }
}
