import Glibc
import SystemIO
import SystemService

/// A service that reports when something was mounted or unmounted at the tasks directory, above it,
/// or in it.
///
/// The watches of directories do not report all of that: not what is mounted over a directory, and an
/// unmount only if the file system is mounted nowhere else, such as in a container.
struct MountWatch: Service {
    let directory: String
    let logger: Logger
    let onChange: @Sendable () async -> Void

    func run() async throws {
        // Without this, most unmounts are reported by the watches of the directories.
        await follow("mounts", logger) { try await followChanges() }
    }

    private func followChanges() async throws {
        let table = try MountTable()
        var mounts: Set<MountTable.Mount>?
        var place = directory
        while true {
            // The directory may be on what is not mounted now; then its place is the last known one.
            if let real = realpath(directory, nil) {
                place = String(cString: real)
                free(real)
            }
            let new = try MountTable.mounts(around: place)
            if let mounts, mounts != new {
                logger.info("mounts have changed", ["around": place])
                await onChange()
            }
            mounts = new
            await table.wait()
            try Task.checkCancellation()
        }
    }
}
