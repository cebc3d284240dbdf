import DocumentModel
import DocumentStore
import ObjectStorage
import SystemIO

/// Restoring the server from a backup.
extension Simulation {
    /// Loses the commits since the backup, and the objects that were stored since. Nothing arrives
    /// meanwhile.
    ///
    /// - Parameter machine: The machine under whose name the story reports it.
    func restoreServer(_ machine: SimulatedMachine, _ random: inout SeededRandom) {
        guard !server.isDown else { return }
        let past = random.milliseconds(1...60_000)
        tell(machine, "sees the server go down; its backup is \(past) old")
        let backup = max(.zero, scheduler.now - past)
        server.isDown = true
        for machine in machines { machine.serverWentDown() }
        // Wait until the user of each machine checks its state.
        let pauses = machines.map { _ in random.milliseconds(1...14_000) }
        scheduler.after(random.milliseconds(100...5000)) { [unowned self] in
            Task {
                await store.restore(to: Self.timestamp(backup))
                let objects = try await objects.list(prefix: "", after: nil, limit: 1000).objects
                for object in objects where object.modified.map({ $0 > backup.components.seconds }) == true {
                    try await self.objects.delete(object.key)
                }
                server.isDown = false
                server.restoreCount += 1
                tell(machine, "sees the server with its backup")
            }
            for (machine, pause) in zip(machines, pauses) { scheduler.after(pause) { machine.rebindIfHeld() } }
        }
    }

    /// Returns the time of the store's clock.
    static func timestamp(_ time: Duration) -> Timestamp {
        let (seconds, attoseconds) = time.components
        return Timestamp(microseconds: 1_790_000_000_000_000 + seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }
}
