package import JSON

/// The time of the account's mail with tasks in the morning.
package struct MorningMailSummary: JSONCodable, Hashable {
    /// The minute of the day.
    package var minute: Int
    /// The name of the time zone, such as `Europe/Berlin`.
    package var zone: String
    /// Whether the mails wait until the account's address is confirmed.
    package var waitsForAddress: Bool

    package init(minute: Int, zone: String, waitsForAddress: Bool = false) {
        self.minute = minute
        self.zone = zone
        self.waitsForAddress = waitsForAddress
    }

    package init(json: JSON) throws(ControlError) {
        guard let minute = json["minute"]?.integerValue, (0..<1440).contains(minute) else {
            throw ControlError(.invalidArgument, "'minute' is a number from 0 to 1439.")
        }
        self.init(
            minute: Int(minute), zone: try json.string("zone"),
            waitsForAddress: json["waitsForAddress"]?.booleanValue ?? false)
    }

    package var json: JSON {
        .members(
            ("minute", .integer(Int64(minute))), ("zone", zone.asJSON), ("waitsForAddress", .boolean(waitsForAddress)))
    }

    /// The time of day, such as `07:30`.
    package var time: String {
        let (hours, minutes) = (minute / 60, minute % 60)
        return "\(hours < 10 ? "0" : "")\(hours):\(minutes < 10 ? "0" : "")\(minutes)"
    }
}
