/// A part of a program that runs as long as the program does.
package protocol Service: Sendable {
    /// Works until it is asked to stop (`GracefulStop`) or its task is cancelled, then cleans up
    /// and returns. An error ends the whole group.
    func run() async throws
}
