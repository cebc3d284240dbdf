import Glibc
import SystemIO

/// Lines on a terminal that are drawn again in their place.
struct RedrawnLines {
    private let stream: StandardStream
    private var drawnCount = 0
    private var drawnTime: ContinuousClock.Instant?

    /// The shortest time between two redraws. Faster changes cannot be read.
    private static let pace = Duration.milliseconds(100)

    /// - Parameter stream: The stream that is connected to the terminal.
    init(stream: StandardStream) { self.stream = stream }

    /// Draws the lines in place of those before, unless that was a moment ago.
    ///
    /// - Parameters:
    ///   - isUrgent: Whether the lines are drawn however short ago the last ones were.
    ///   - lines: Returns the lines for a terminal of a width and a number of rows, which they must
    ///     fit: a line that wrapped could not be drawn again.
    mutating func draw(isUrgent: Bool, lines: (_ format: Table.Format, _ rows: Int) -> [String]) {
        let now = ContinuousClock.now
        guard isUrgent || drawnTime.map({ now - $0 >= Self.pace }) ?? true else { return }
        drawnTime = now
        let size = Terminal.size(stream.rawValue)
        let format = Table.Format(width: size?.columns ?? 80, usesControls: true)
        let lines = lines(format, size?.rows ?? 24)
        var text = drawnCount > 0 ? "\u{1B}[\(drawnCount)A\r" : ""
        // Erased first: a line may place its columns by number and leave out what is between.
        for line in lines { text += "\u{1B}[K\(line)\n" }
        text += "\u{1B}[J"
        drawnCount = lines.count
        Terminal.write(text, to: stream)
    }

    /// Leaves the lines where they are; what is drawn next stands below.
    mutating func end() { drawnCount = 0 }
}
