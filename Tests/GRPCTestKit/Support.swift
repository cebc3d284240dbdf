package import GRPCClient
package import GRPCProtocol
package import GRPCServer
import Glibc

/// Starts a server on a free port, calls the body with a channel to it, and stops both.
package func withServer(
    _ configuration: GRPCServerConfiguration = GRPCServerConfiguration(),
    channel channelConfiguration: GRPCChannelConfiguration = GRPCChannelConfiguration(),
    routes: GRPCRoutes = .echo, _ body: (GRPCChannel) async throws -> Void
) async throws {
    let server = GRPCServer(configuration, routes: routes)
    let port = try server.start()
    let channel = GRPCChannel("127.0.0.1:\(port)", configuration: channelConfiguration)
    do {
        try await body(channel)
    } catch {
        channel.close()
        await server.shutdown(within: .zero)
        throw error
    }
    channel.close()
    await server.shutdown(within: .zero)
}

extension GRPCRoutes {
    /// Routes with one method of each kind.
    package static var echo: GRPCRoutes {
        var routes = GRPCRoutes()
        routes["/test.Echo/Unary"] = .unary { request, _ in request }
        routes["/test.Echo/Bidi"] = .streaming { call in
            for try await message in call.requests { try await call.send(message) }
        }
        // The answer to [n] is n messages.
        routes["/test.Echo/Count"] = .streaming { call in
            let count = try await call.next()?.first ?? 0
            for number in 0..<count { try await call.send([number]) }
        }
        // The answer is the sum of all first bytes.
        routes["/test.Echo/Sum"] = .streaming { call in
            var sum: UInt8 = 0
            for try await message in call.requests { sum &+= message.first ?? 0 }
            try await call.send([sum])
        }
        return routes
    }

    package static func streaming(_ handler: @escaping @Sendable (GRPCServerCall) async throws -> Void) -> GRPCRoutes {
        var routes = GRPCRoutes()
        routes["/test/Call"] = .streaming(handler)
        return routes
    }

    package static func unary(
        _ handler: @escaping @Sendable ([UInt8], GRPCServerCall) async throws -> [UInt8]
    ) -> GRPCRoutes {
        var routes = GRPCRoutes()
        routes["/test/Call"] = .unary(handler)
        return routes
    }
}

/// Events that happen elsewhere, for which a test waits.
package struct Events<Event: Sendable>: Sendable {
    private let stream: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    package init(of type: Event.Type = Event.self) {
        (stream, continuation) = AsyncStream.makeStream(of: type)
    }

    package func add(_ event: Event) { continuation.yield(event) }

    /// Waits for the next event. Only one task may wait.
    package func next() async -> Event? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }
}

/// Returns the status that the body throws. For no error or one of another type, it returns a
/// status that no test expects.
package func status(_ body: () async throws -> Void) async -> GRPCStatus {
    do {
        try await body()
        return GRPCStatus(.unknown, "No status was thrown.")
    } catch let status as GRPCStatus {
        return status
    } catch {
        return GRPCStatus(.unknown, "Not a status: \(error)")
    }
}

/// Returns the number of threads of this process; 0 if the kernel does not list them.
package func threadCount() -> Int {
    guard let directory = opendir("/proc/self/task") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count - 2
}
