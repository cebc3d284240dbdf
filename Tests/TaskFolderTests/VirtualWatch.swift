import SystemIO
import TaskFolder

/// A folder in memory with its debouncer and a clock that the test advances: `FolderChanges` in
/// virtual time.
final class VirtualWatch {
    let disk = MemoryDisk()
    let folder: MemoryTaskFolder
    var debouncer: EventDebouncer
    private(set) var now = Duration.zero
    /// The files that a reader of the changes knows. They must become equal to those on the disk.
    private(set) var known: [TaskPath: FileStamp] = [:]
    private(set) var log: [DebouncedChange] = []

    init(times: SettleTimes = SettleTimes()) throws {
        folder = MemoryTaskFolder(disk: disk)
        debouncer = EventDebouncer(times: times)
        try folder.startWatching()
        try rescan()
    }

    /// Processes a scan. Known files that it does not find may be gone.
    func rescan() throws {
        var found: [TaskPath: FileStamp] = [:]
        let scan = try folder.scan(.watch) { found[$0.path] = $0.stamp }
        for path in known.keys.sorted() where found[path] == nil && scan.isComplete {
            debouncer.handleMissing(path, at: now)
        }
        known.merge(found) { $1 }
    }

    /// Advances the clock, and takes a turn whenever something is due.
    func advance(_ time: Duration) throws {
        let end = now + time
        try turn()
        while let next = debouncer.nextDeadline, next <= end {
            now = max(now, next)
            try turn()
        }
        now = end
        try turn()
    }

    private func turn() throws {
        var needsScan = false
        while true {
            let events = try folder.takeEvents()
            for event in events { debouncer.handle(event, at: now) }
            for path in debouncer.duePaths(at: now) { debouncer.observe(path, observe(path), at: now) }
            let changes = debouncer.take()
            for change in changes { needsScan = apply(change) || needsScan }
            if events.isEmpty, changes.isEmpty { break }
        }
        if needsScan { try rescan() }
    }

    private func observe(_ path: TaskPath) -> EventDebouncer.Observation {
        do throws(FolderError) {
            return try folder.stamp(path).map { .file($0) } ?? .absent
        } catch {
            return .obstructed
        }
    }

    private func apply(_ change: DebouncedChange) -> Bool {
        log.append(change)
        switch change {
        case .changed(let path, let stamp): known[path] = stamp
        case .moved(let from, let to, let stamp, _):
            known[from] = nil
            known[to] = stamp
        case .removed(let path), .movedAway(let path): known[path] = nil
        case .directoryRemoved(let path): known = known.filter { !$0.key.isBeneath(path) }
        case .directoryMoved(let from, let to):
            known = Dictionary(known.map { ($0.key.moved(from: from, to: to), $0.value) }) { $1 }
        case .rescanNeeded: return true
        case .obstructed(let path, let origin?): known[path] = known.removeValue(forKey: origin)
        case .directoryAppeared, .obstructed, .problem, .rootChanged: break
        }
        return false
    }

    func clearLog() { log = [] }

    /// Returns the files on the disk.
    func files() throws -> [TaskPath: FileStamp] {
        var files: [TaskPath: FileStamp] = [:]
        _ = try folder.scan(.watch) { files[$0.path] = $0.stamp }
        return files
    }
}

/// SplitMix64, a generator with the same numbers for the same seed.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
