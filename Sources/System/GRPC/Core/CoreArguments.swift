import CGRPC
import Glibc

/// Settings of a channel or server in the core's names, which `grpc_types.h` documents one by one.
struct CoreArguments {
    private enum Value {
        case integer(Int32)
        case string(String)
    }

    private var values: [(key: String, value: Value)] = []

    mutating func set(_ key: String, _ value: Int) {
        values.append((key, .integer(Int32(clamping: value))))
    }

    mutating func set(_ key: String, _ value: String) {
        values.append((key, .string(value)))
    }

    mutating func set(_ key: String, _ value: Bool) {
        set(key, value ? 1 : 0)
    }

    /// Whole milliseconds; a longer time than the core can count is "never".
    mutating func set(_ key: String, _ value: Duration) {
        set(key, value.wholeMilliseconds)
    }

    /// A size in bytes; nil is "no limit".
    mutating func set(_ key: String, limit: Int?) {
        set(key, limit ?? -1)
    }

    mutating func set(_ keepalive: GRPCKeepalive?, withoutCalls: Bool) {
        guard let keepalive else { return }
        set(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive.time)
        set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive.timeout)
        set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, withoutCalls)
        // The core's own limit of two would silence the pings of a stream on which nothing happens.
        set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0)
    }

    /// The core copies what it keeps before `body` returns.
    func withCoreArguments<Result>(_ body: (UnsafePointer<grpc_channel_args>) -> Result) -> Result {
        var owned: [UnsafeMutablePointer<CChar>?] = []
        defer { owned.forEach { free($0) } }
        func own(_ string: String) -> UnsafeMutablePointer<CChar>? {
            let copy = strdup(string)
            owned.append(copy)
            return copy
        }
        var arguments: [grpc_arg] = values.map { key, value in
            switch value {
            case .integer(let integer): cgrpc_integer_argument(own(key), integer)
            case .string(let string): cgrpc_string_argument(own(key), own(string))
            }
        }
        return arguments.withUnsafeMutableBufferPointer { buffer in
            var list = grpc_channel_args(num_args: buffer.count, args: buffer.baseAddress)
            return body(&list)
        }
    }
}

extension Duration {
    /// Rounded down, and within what an `Int` holds.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return Int(clamping: product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue)
    }
}
