import Synchronization
import SystemService

/// The lowest level that is logged, which a reload may change.
final class LevelSetting: Sendable {
    private let level: Atomic<Int>

    init(_ level: LogLevel) { self.level = Atomic(level.rawValue) }

    var value: LogLevel {
        get { LogLevel(rawValue: level.load(ordering: .relaxed)) ?? .info }
        set { level.store(newValue.rawValue, ordering: .relaxed) }
    }
}
