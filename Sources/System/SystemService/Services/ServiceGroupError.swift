/// The end of a group of services that was not asked to stop.
package struct ServiceGroupError: Error, CustomStringConvertible {
    /// The service that ended first.
    package var service: String
    /// The error that the service threw; nil if it returned too early.
    package var cause: (any Error)?

    package var description: String {
        cause.map { "\(service) failed: \($0)" } ?? "\(service) ended although it should run for good"
    }
}
