package import HTTPMessages
import JSON

/// Serves the socket of a daemon that cannot work: it answers status, health and checks of a configuration, and
/// refuses every other call with one error.
package struct RefusingControlServer: Sendable {
    private let status: @Sendable () -> DaemonStatus
    private let check: @Sendable (_ text: String, _ name: String) throws -> [SettingSummary]
    private let version: String
    private let userID: UInt32

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - status: The status, whose `reason` and `hint` are also those of the error.
    ///   - check: Returns the settings of a configuration file with this text; throws `ControlError`.
    ///   - userID: The user of the daemon.
    package init(
        version: String, userID: UInt32, status: @escaping @Sendable () -> DaemonStatus,
        check: @escaping @Sendable (_ text: String, _ name: String) throws -> [SettingSummary]
    ) {
        (self.status, self.check, self.version, self.userID) = (status, check, version, userID)
    }

    /// Handles a request on the socket.
    ///
    /// - Parameter user: The user of the caller's process; nil if it is not known.
    package func respond(to request: ControlRequest, from user: UInt32?) async -> HTTPResponse {
        var response: HTTPResponse
        do {
            guard let user, [userID, 0].contains(user) else {
                throw ControlError(.permissionDenied, "This daemon serves its own user and root only.")
            }
            response = .json(try await answer(request))
        } catch let error as ControlError {
            response = .json(error.json, status: HTTPStatus(rawValue: error.httpStatus))
        } catch {
            response = .json(ControlError(.internal, "\(error)").json, status: .internalServerError)
        }
        response.headers["Ferry-Version"] = version
        return response
    }

    private func answer(_ request: ControlRequest) async throws -> JSON {
        let status = status()
        switch ControlRoute(method: request.method.rawValue, segments: request.target.segments) {
        case .status?: return status.json
        case .health?:
            let check = HealthCheck("configuration", .failed, status.reason ?? "", remedy: status.hint)
            return .members(("schemaVersion", 1), ("checks", [check].json))
        case .checkConfiguration?:
            let bytes = try await request.body.collect(limit: ControlLimit.bodyBytes)
            guard let body = try? JSON(parsing: bytes) else {
                throw ControlError(.invalidArgument, "The request's body is no JSON.")
            }
            let settings = try check(body.string("text"), body.string("name"))
            return .members(("schemaVersion", 1), ("settings", settings.json))
        default: throw ControlError(.unavailable, status.reason ?? "", hint: status.hint)
        }
    }
}
