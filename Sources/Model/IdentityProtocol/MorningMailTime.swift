package import JSON

/// The time of an account's mail in the morning, as `accounts:lookup` and `accounts:update` have it.
package struct MorningMailTime: Sendable, Hashable {
    /// The member of an account, and of a request to change it. Null ends the mails.
    package static let field = "ferryMorningMail"

    /// The minute of the day.
    package var minute: Int
    /// The name of the time zone, such as `Europe/Berlin`.
    package var zone: String
    /// Whether the mails wait until the address is confirmed.
    package var waitsForAddress: Bool

    package init(minute: Int, zone: String, waitsForAddress: Bool = false) {
        self.minute = minute
        self.zone = zone
        self.waitsForAddress = waitsForAddress
    }

    /// Reads the form of `json`; nil for anything else.
    package init?(json: JSON) {
        guard let minute = json["minute"]?.integerValue, (0..<1440).contains(minute),
            let zone = json["zone"]?.stringValue
        else { return nil }
        self.init(
            minute: Int(minute), zone: zone, waitsForAddress: json["waitsForAddress"]?.booleanValue ?? false)
    }

    package var json: JSON {
        [
            "minute": .integer(Int64(minute)), "zone": .string(zone),
            "waitsForAddress": .boolean(waitsForAddress),
        ]
    }
}
