public import DocumentModel

// FerryKit has a protocol `DocumentModel`, behind which the module of this name cannot be seen, and
// typed forms of these types under the same names.
package typealias DatabaseQuery = Query
package typealias DatabaseDocument = Document
package typealias DatabaseWrite = Write

/// A point on the earth in degrees.
public typealias GeographicPoint = GeoPoint
