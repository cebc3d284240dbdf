import Control
import HTTPMessages
import IdentityProtocol
import SystemIO

extension ControlError {
    /// The same error, telling what lies beneath.
    func caused(by error: any Error) -> ControlError {
        var result = self
        result.causes = Self.causes(of: error)
        return result
    }

    /// The outermost first. A cause that hides a secret is never written into an error, so none can come out here.
    private static func causes(of error: any Error) -> [String] {
        switch error {
        case let error as HTTPError:
            return ["\(error.code): \(error.message)"] + (error.cause.map { causes(of: $0) } ?? [])
        case let error as IdentityError: return ["\(error.code): \(error.message)"]
        case let error as SystemError:
            return ["\(error.code.name)" + (error.errno == 0 ? "" : ", errno \(error.errno)") + ": \(error.message)"]
        default: return ["\(error)"]
        }
    }
}
