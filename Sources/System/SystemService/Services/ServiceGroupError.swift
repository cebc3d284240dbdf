/// Why a group of services ended although nobody asked it to.
package struct ServiceGroupError: Error, CustomStringConvertible {
    /// The service that ended first.
    package var service: String
    /// What it threw; nil where it returned too early.
    package var cause: (any Error)?

    package var description: String {
        cause.map { "\(service) failed: \($0)" } ?? "\(service) ended although it should run for good"
    }
}
