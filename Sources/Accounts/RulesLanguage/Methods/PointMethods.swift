import DocumentModel
import Foundation

/// The methods and functions of points on the earth.
enum PointMethods {
    /// The mean radius of the earth in meters.
    private static let earthRadius = 6_371_010.0

    static func call(
        _ name: String, on point: GeoPoint, _ arguments: [RuleValue]
    ) throws(OperationError) -> RuleValue {
        switch (name, arguments.first) {
        case ("latitude", nil): return .float(point.latitude)
        case ("longitude", nil): return .float(point.longitude)
        case ("distance", .latlng(let other)?): return .float(distance(point, other))
        default: throw .unsupported("method \"\(name)\"", on: .latlng(point))
        }
    }

    /// `latlng.value(latitude, longitude)`
    static func point(_ arguments: [RuleValue]) throws(OperationError) -> RuleValue {
        guard let latitude = arguments.first?.number, let longitude = arguments.last?.number,
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else { throw OperationError("This is not a latitude and a longitude in degrees.") }
        return .latlng(GeoPoint(latitude: latitude, longitude: longitude))
    }

    /// The length of a great circle in meters, by the haversine formula.
    private static func distance(_ a: GeoPoint, _ b: GeoPoint) -> Double {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let latitude = sin(radians(b.latitude - a.latitude) / 2)
        let longitude = sin(radians(b.longitude - a.longitude) / 2)
        let chord =
            latitude * latitude + cos(radians(a.latitude)) * cos(radians(b.latitude)) * longitude * longitude
        return 2 * earthRadius * asin(min(1, chord.squareRoot()))
    }
}

/// `base` to the power of `exponent`.
func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
