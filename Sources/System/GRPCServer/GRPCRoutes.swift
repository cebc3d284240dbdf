import GRPCProtocol

/// The handler of one method.
package enum GRPCMethod: Sendable {
    /// One request and one answer. A thrown error becomes the status.
    case unary(@Sendable (_ request: [UInt8], _ call: GRPCServerCall) async throws -> [UInt8])
    /// Any number of messages in each direction. If the handler returns without `finish`, the call
    /// ends with `ok`. If it throws, the error becomes the status.
    case streaming(@Sendable (_ call: GRPCServerCall) async throws -> Void)
}

/// The methods of a server by path. A call of any other path ends with `unimplemented`.
///
///     var routes = GRPCRoutes()
///     routes["/example.Echo/Get"] = .unary { request, _ in request }
///     routes["/example.Echo/Repeat"] = .streaming { call in
///         for try await message in call.requests { try await call.send(message) }
///     }
package struct GRPCRoutes: Sendable {
    private(set) var methods: [String: GRPCMethod] = [:]

    package init() {}

    package subscript(path: String) -> GRPCMethod? {
        get { methods[path] }
        set { methods[path] = newValue }
    }
}
