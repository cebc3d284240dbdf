import Control
import HTTPMessages
import IdentityProtocol
import SystemIO

extension ControlError {
    /// Returns the error with the underlying errors added.
    func caused(by error: any Error) -> ControlError {
        var result = self
        result.causes = Self.causes(of: error)
        return result
    }

    /// Returns the descriptions of an error and its causes, outermost first. Causes that contain a
    /// secret are never stored in an error, so none can appear here.
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
