import DocumentModel
import DocumentStore
import ObjectStorage
import SystemIO

/// A server that goes on with a backup of itself.
extension Simulation {
    /// What was ordered since the backup, and the objects that came since, are gone. Nothing arrives meanwhile.
    ///
    /// - Parameter machine: tells of it.
    func restoreServer(_ machine: SimulatedMachine, _ random: inout SeededRandom) {
        guard !server.isDown else { return }
        let past = random.milliseconds(1...60_000)
        tell(machine, "sees the server go down; its backup is \(past) old")
        let backup = max(.zero, scheduler.now - past)
        server.isDown = true
        for machine in machines { machine.serverWentDown() }
        // Until the user of each machine looks at it.
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

    /// What the store's clock says.
    static func timestamp(_ time: Duration) -> Timestamp {
        let (seconds, attoseconds) = time.components
        return Timestamp(microseconds: 1_790_000_000_000_000 + seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }
}
