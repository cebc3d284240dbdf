import HTTPMessages
import HTTPServer
import Synchronization

/// The handler of the HTTP port. It answers "not yet" until it is opened, because the port is bound
/// before the parts that need its number are ready.
final class Site: Sendable {
    private let handler = Mutex<WebHandler?>(nil)

    func open(_ handler: WebHandler) { self.handler.withLock { $0 = handler } }

    func respond(to request: HTTPServerRequest) async -> HTTPResponse {
        guard let handler = handler.withLock({ $0 }) else {
            return HTTPResponse(
                .serviceUnavailable, headers: ["Retry-After": "1", "Content-Type": "text/plain; charset=utf-8"],
                body: .text("The server is starting.\n"))
        }
        return await handler.respond(to: request)
    }
}
