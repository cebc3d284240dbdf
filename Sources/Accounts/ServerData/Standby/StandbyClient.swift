import HTTPClient
import HTTPMessages
import IdentityServer
import JSON
import Synchronization
package import SystemIO

/// The calls of a standby to the server whose data it copies; see `StandbySource`.
package final class StandbyClient: Sendable {
    private struct Token {
        var text = ""
        /// The time until which the token is used, in seconds since 1970.
        var until: Int64 = 0
    }

    package let url: String
    private let key: ServiceAccountFile
    private let http: HTTPClient
    private let now: @Sendable () -> Int64
    private let environment: Environment
    private let token = Mutex(Token())

    private static let answerLimit = 1 << 20
    /// The number of attempts for a copy while another standby has one.
    private static let attempts = 30

    /// - Parameters:
    ///   - url: The server's URL, without a slash at its end; of `https`, or on loopback.
    ///   - key: The path of a file of `ferry-server keys add --service-account`.
    ///   - authorities: The path of a file with the certificates to trust; nil for the system's.
    ///   - now: Returns the seconds since 1970.
    /// - Throws: `ServerError` with `.configuration`.
    package init(
        url: String, key: String, authorities: String?, environment: Environment = .system,
        now: @escaping @Sendable () -> Int64 = WallClock.seconds
    ) throws {
        guard let address = WebAddress(url), address.isSecure || address.address.isLoopback else {
            throw ServerError(
                .configuration, "--from takes the URL of a server, such as https://tasks.example.org, not '\(url)'.")
        }
        let json = (try? FileSystem.read(key, limit: 1 << 20)).flatMap { try? JSON(parsing: $0) }
        guard let json, let file = ServiceAccountFile(json) else {
            throw ServerError(
                .configuration,
                "\(key) is not a key. Make one on the server with 'ferry-server keys add --service-account standby > key.json'."
            )
        }
        self.url = address.description
        self.key = file
        self.now = now
        self.environment = environment
        var configuration = HTTPClient.Configuration()
        configuration.certificateAuthorities = authorities
        http = HTTPClient(configuration)
    }

    /// Sends a request, and returns a response with the status 200 or 304.
    ///
    /// - Throws: `HTTPError` if the server does not answer, `ServerError` for any other answer.
    func call(
        _ method: HTTPMethod, _ path: String, name: String? = nil, body: [UInt8] = [], tag: String? = nil
    ) async throws -> HTTPResponse {
        let query = name.map { "?name=\(PercentEncoding.encode($0))" } ?? ""
        var request = HTTPRequest(method, "\(url)\(StandbySource.path)\(path)\(query)", body: .bytes(body))
        if let tag { request.headers["If-None-Match"] = tag }
        for attempt in 1... {
            request.headers["Authorization"] = "Bearer \(try await accessToken())"
            let response = try await http.send(request)
            switch response.status {
            case .ok, .notModified: return response
            case .serviceUnavailable where attempt < Self.attempts: try await environment.sleep(for: .seconds(1))
            case .unauthorized where attempt == 1: token.withLock { $0 = Token() }
            default: throw await Self.refusal(response, path)
            }
        }
        throw CancellationError()
    }

    /// Whether anything answers at a server's URL.
    package static func isAnswered(_ url: String) async -> Bool {
        let timeouts = HTTPRequest.Timeouts(connect: .seconds(5), stall: .seconds(5), total: .seconds(10))
        do {
            _ = try await HTTPClient().send(HTTPRequest(.get, "\(url)/healthz", timeouts: timeouts))
            return true
        } catch let error as HTTPError where error.code == .couldNotConnect || error.code == .couldNotResolve {
            return false
        } catch let error as HTTPError where error.code == .timedOut {
            return false
        } catch {
            return true
        }
    }

    private func accessToken() async throws -> String {
        let (known, time) = (token.withLock { $0 }, now())
        if known.until > time { return known.text }
        let body = try key.tokenRequest(now: time)
        let response = try await http.send(
            HTTPRequest(
                .post, "\(url)/v1/token", headers: ["Content-Type": "application/json"], body: .bytes(body.bytes)))
        guard response.status == .ok,
            let text = try? JSON(parsing: await response.body.collect(limit: Self.answerLimit))["access_token"]?
                .stringValue
        else { throw ServerError(.failed, "\(url) does not accept the key of this standby.") }
        token.withLock { $0 = Token(text: text, until: time + 1800) }
        return text
    }

    private static func refusal(_ response: HTTPResponse, _ path: String) async -> ServerError {
        let text = (try? await response.body.collect(limit: answerLimit)).map { String(decoding: $0, as: UTF8.self) }
        let code: ServerError.Code = response.status == .notFound ? .notFound : .failed
        return ServerError(
            code, "The server answers \(response.status.rawValue) to \(path): \((text ?? "").prefix { $0 != "\n" })")
    }
}
