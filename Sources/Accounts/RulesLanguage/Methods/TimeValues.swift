import CivilTime
import DocumentModel

/// The methods and functions of timestamps and durations. Times are in UTC.
enum TimeValues {
    private static let nanosecondsOfDay: Int128 = 86_400_000_000_000
    /// The longest duration, as in protocol buffers: 10,000 years.
    private static let durationLimit: Int128 = 315_576_000_000 * 1_000_000_000

    static func call(_ name: String, on time: Timestamp) throws(OperationError) -> RuleValue {
        guard time.isValid else { throw OperationError("This time is beyond the years 1 to 9999.") }
        let civil = UTCTime(microseconds: time.microseconds)
        let date = civil.day
        let second = Int(civil.microsecondOfDay / 1_000_000)
        switch name {
        case "year": return .integer(Int64(date.year))
        case "month": return .integer(Int64(date.month))
        case "day": return .integer(Int64(date.day))
        case "dayOfYear":
            let first = CalendarDay(year: date.year, month: 1, day: 1)?.daysSinceEpoch ?? date.daysSinceEpoch
            return .integer(Int64(date.daysSinceEpoch - first + 1))
        case "dayOfWeek": return .integer(Int64(date.weekday))
        case "hours": return .integer(Int64(second / 3600))
        case "minutes": return .integer(Int64(second / 60 % 60))
        case "seconds": return .integer(Int64(second % 60))
        case "nanos": return .integer(Int64(time.nanos))
        case "toMillis":
            return .integer(Int64(time.microseconds >= 0 ? time.microseconds / 1000 : (time.microseconds - 999) / 1000))
        case "date": return .timestamp(start(of: date))
        case "time": return .duration(Int128(second) * 1_000_000_000 + Int128(time.nanos))
        default: throw .unsupported("method \"\(name)\"", on: .timestamp(time))
        }
    }

    static func call(_ name: String, on length: Int128) throws(OperationError) -> RuleValue {
        switch name {
        case "seconds": return .integer(Int64(clamping: length / 1_000_000_000))
        case "nanos": return .integer(Int64(clamping: length % 1_000_000_000))
        default: throw .unsupported("method \"\(name)\"", on: .duration(length))
        }
    }

    /// Returns a time moved by nanoseconds, rounded to microseconds.
    static func moved(_ time: Timestamp, by length: Int128) throws(OperationError) -> RuleValue {
        let microseconds = Int128(time.microseconds) + length / 1000
        guard let result = Int64(exactly: microseconds).map(Timestamp.init(microseconds:)), result.isValid else {
            throw OperationError("This time is beyond the years 1 to 9999.")
        }
        return .timestamp(result)
    }

    static func duration(_ length: Int128) throws(OperationError) -> RuleValue {
        guard (-durationLimit...durationLimit).contains(length) else {
            throw OperationError("This duration is longer than 10,000 years.")
        }
        return .duration(length)
    }

    /// `timestamp.date(year, month, day)` and `timestamp.value(milliseconds)`.
    static func timestamp(_ name: String, _ arguments: [RuleValue]) throws(OperationError) -> RuleValue {
        let numbers = try integers(arguments)
        if name == "value", let milliseconds = numbers.first {
            let (microseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1000)
            let time = Timestamp(microseconds: microseconds)
            guard !overflow, time.isValid else { throw OperationError("This time is beyond the years 1 to 9999.") }
            return .timestamp(time)
        }
        let parts = numbers.compactMap(Int.init(exactly:))
        guard parts.count == 3, let day = CalendarDay(year: parts[0], month: parts[1], day: parts[2]) else {
            throw OperationError("This is not a date.")
        }
        return .timestamp(start(of: day))
    }

    private static func start(of day: CalendarDay) -> Timestamp {
        Timestamp(microseconds: Int64(day.daysSinceEpoch) * 86_400_000_000)
    }

    /// `duration.abs(length)`, `duration.value(count, unit)` and
    /// `duration.time(hours, minutes, seconds, nanoseconds)`.
    static func duration(_ name: String, _ arguments: [RuleValue]) throws(OperationError) -> RuleValue {
        switch name {
        case "abs":
            guard case .duration(let length)? = arguments.first else { throw OperationError("This is not a duration.") }
            return .duration(length < 0 ? -length : length)
        case "value":
            guard case .integer(let count)? = arguments.first, case .string(let unit)? = arguments.last,
                let nanoseconds = nanoseconds(of: unit)
            else {
                throw OperationError("A duration has an integer and a unit: 'w', 'd', 'h', 'm', 's', 'ms' or 'ns'.")
            }
            return try duration(Int128(count) * nanoseconds)
        default:
            let parts = try integers(arguments)
            guard parts.count == 4 else { throw OperationError("A duration has four parts.") }
            let seconds = Int128(parts[0]) * 3600 + Int128(parts[1]) * 60 + Int128(parts[2])
            return try duration(seconds * 1_000_000_000 + Int128(parts[3]))
        }
    }

    private static func nanoseconds(of unit: String) -> Int128? {
        switch unit {
        case "w": nanosecondsOfDay * 7
        case "d": nanosecondsOfDay
        case "h": 3_600_000_000_000
        case "m": 60_000_000_000
        case "s": 1_000_000_000
        case "ms": 1_000_000
        case "ns": 1
        default: nil
        }
    }

    private static func integers(_ values: [RuleValue]) throws(OperationError) -> [Int64] {
        var numbers: [Int64] = []
        for value in values {
            guard case .integer(let number) = value else { throw OperationError("This is not an integer.") }
            numbers.append(number)
        }
        return numbers
    }
}
