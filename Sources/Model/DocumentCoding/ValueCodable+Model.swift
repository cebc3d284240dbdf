package import DocumentModel

extension GeoPoint: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> GeoPoint {
        guard case .geoPoint(let point) = value else { throw ValueMismatch(expected: "a point", found: value) }
        return point
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        guard abs(latitude) <= 90, abs(longitude) <= 180 else {
            throw ValueMismatch("The point is not on the earth: latitude \(latitude), longitude \(longitude).")
        }
        return .value(.geoPoint(self))
    }

    package static var examples: (GeoPoint, GeoPoint) {
        (GeoPoint(latitude: 0, longitude: 0), GeoPoint(latitude: 1, longitude: 1))
    }
}

extension Timestamp: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> Timestamp {
        guard case .timestamp(let time) = value else { throw ValueMismatch(expected: "a timestamp", found: value) }
        return time
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        guard isValid else { throw ValueMismatch("The time is not in the years 1 to 9999.") }
        return .value(.timestamp(self))
    }

    package static var examples: (Timestamp, Timestamp) {
        (Timestamp(microseconds: 0), Timestamp(microseconds: 1))
    }
}
