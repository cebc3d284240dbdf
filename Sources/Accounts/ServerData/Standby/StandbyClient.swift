import HTTPClient
import HTTPMessages
import JSON
package import SystemIO

/// The calls of a standby to the server whose data it copies; see `StandbySource`.
package final class StandbyClient: Sendable {
    package let url: String
    private let authorization: String
    private let http: HTTPClient
    private let environment: Environment

    private static let answerLimit = 1 << 20
    /// The number of attempts for a copy while another standby has one.
    private static let attempts = 30
    /// The time limit for the server to copy a database, during which it sends nothing.
    private static let copyLimit = Duration.seconds(1800)

    /// - Parameters:
    ///   - url: The server's URL, without a slash at its end; of `https`, or on loopback.
    ///   - key: The path of a file of `ferry-server keys add --standby`.
    ///   - authorities: The path of a file with the certificates to trust; nil for the system's.
    /// - Throws: `ServerError` with `.configuration`.
    package init(
        url: String, key: String, authorities: String?, environment: Environment = .system
    ) throws {
        guard let address = WebAddress(url), address.isSecure || address.address.isLoopback else {
            throw ServerError(
                .configuration, "--from takes the URL of a server, such as https://tasks.example.org, not '\(url)'.")
        }
        let json = (try? FileSystem.read(key, limit: 1 << 20)).flatMap { try? JSON(parsing: $0) }
        guard let authorization = json.flatMap(StandbyKeys.authorization) else {
            throw ServerError(
                .configuration,
                "\(key) is not a key. Make one on the server with 'ferry-server keys add --standby > key.json'."
            )
        }
        self.url = address.description
        self.authorization = authorization
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
        if method == .post { request.timeouts.stall = Self.copyLimit }
        if let tag { request.headers["If-None-Match"] = tag }
        request.headers["Authorization"] = authorization
        for attempt in 1... {
            let response = try await http.send(request)
            switch response.status {
            case .ok, .notModified: return response
            case .serviceUnavailable where attempt < Self.attempts: try await environment.sleep(for: .seconds(1))
            case .unauthorized,
                .notFound where path.isEmpty:
                throw ServerError(
                    .failed,
                    "\(url) does not accept the key. Make one there with 'ferry-server keys add --standby > key.json'.")
            default: throw await Self.refusal(response, path)
            }
        }
        throw CancellationError()
    }

    /// The state of a server as seen from here.
    package enum Presence: Sendable {
        /// The name does not resolve, or the connection is refused.
        case absent
        /// The server may work for others: no answer came in time.
        case silent
        case answering
    }

    /// Returns whether anything answers at a server's URL.
    package static func presence(_ url: String, within limit: Duration = .seconds(10)) async -> Presence {
        let timeouts = HTTPRequest.Timeouts(connect: limit, total: limit)
        do {
            _ = try await HTTPClient().send(HTTPRequest(.get, "\(url)/healthz", timeouts: timeouts))
            return .answering
        } catch let error as HTTPError where error.code == .couldNotConnect || error.code == .couldNotResolve {
            return .absent
        } catch let error as HTTPError where error.code == .timedOut {
            return .silent
        } catch {
            return .answering
        }
    }

    private static func refusal(_ response: HTTPResponse, _ path: String) async -> ServerError {
        let text = (try? await response.body.collect(limit: answerLimit)).map { String(decoding: $0, as: UTF8.self) }
        let code: ServerError.Code = response.status == .notFound ? .notFound : .failed
        return ServerError(
            code, "The server answers \(response.status.rawValue) to \(path): \((text ?? "").prefix { $0 != "\n" })")
    }
}
