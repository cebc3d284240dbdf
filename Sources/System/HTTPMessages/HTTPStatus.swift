/// A status code. The library chooses the reason phrase.
package struct HTTPStatus: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }
    package init(integerLiteral value: Int) { rawValue = value }

    package static let ok: HTTPStatus = 200
    package static let created: HTTPStatus = 201
    package static let accepted: HTTPStatus = 202
    package static let noContent: HTTPStatus = 204
    package static let partialContent: HTTPStatus = 206
    package static let movedPermanently: HTTPStatus = 301
    package static let notModified: HTTPStatus = 304
    package static let badRequest: HTTPStatus = 400
    package static let unauthorized: HTTPStatus = 401
    package static let forbidden: HTTPStatus = 403
    package static let notFound: HTTPStatus = 404
    package static let methodNotAllowed: HTTPStatus = 405
    package static let requestTimeout: HTTPStatus = 408
    package static let conflict: HTTPStatus = 409
    package static let lengthRequired: HTTPStatus = 411
    package static let preconditionFailed: HTTPStatus = 412
    package static let contentTooLarge: HTTPStatus = 413
    package static let unsupportedMediaType: HTTPStatus = 415
    package static let rangeNotSatisfiable: HTTPStatus = 416
    package static let tooManyRequests: HTTPStatus = 429
    package static let internalServerError: HTTPStatus = 500
    package static let notImplemented: HTTPStatus = 501
    package static let badGateway: HTTPStatus = 502
    package static let serviceUnavailable: HTTPStatus = 503

    /// Whether the status is 2xx.
    package var isSuccess: Bool { (200..<300).contains(rawValue) }

    package var description: String { String(rawValue) }
}
