package import DocumentModel
import Synchronization

/// Finds the names of fields in documents that key paths of models stand for.
///
/// `Codable` is the only place where the name of a property in a document is known. A model is
/// therefore decoded from examples that differ in one field at a time. The field whose change shows
/// at the key path is the one it stands for. Each key path is resolved once.
package enum FieldNames {
    /// Keys of the cache are immutable objects, which may be shared.
    private struct Known: @unchecked Sendable {
        var paths: [AnyKeyPath: FieldPath] = [:]
    }

    private static let known = Mutex(Known())

    /// Returns the path of the field that a key path stands for.
    ///
    /// - Throws: `FieldNameError`, which names the property.
    package static func path<Root, Content>(
        of keyPath: any KeyPath<Root, Content> & Sendable
    ) throws(FieldNameError) -> FieldPath {
        if let path = known.withLock({ $0.paths[keyPath] }) { return path }
        guard let root = Root.self as? any Decodable.Type else {
            throw FieldNameError("\(Root.self) is not Decodable, so \(keyPath) stands for no field.")
        }
        let path = try resolve(root, keyPath)
        known.withLock { $0.paths[keyPath] = path }
        return path
    }

    private static func resolve<Root: Decodable>(
        _ type: Root.Type, _ keyPath: AnyKeyPath
    ) throws(FieldNameError) -> FieldPath {
        let plain = Probe.State(target: nil)
        let zero = try example(type, plain, keyPath)
        let before = try content(zero[keyPath: keyPath], of: keyPath)
        var hits: [[String]] = []
        for target in 0..<plain.count {
            let state = Probe.State(target: target)
            let one = try example(type, state, keyPath)
            if try content(one[keyPath: keyPath], of: keyPath) != before { hits.append(state.path) }
        }
        // All fields within a nested value have the path of that value in common.
        var common = hits.first ?? []
        for hit in hits.dropFirst() { common = Array(zip(common, hit).prefix { $0 == $1 }.map(\.0)) }
        // A structure with a single field is above the path of that field.
        let content = Swift.type(of: keyPath).valueType
        let wanted = ObjectIdentifier((content as? any OptionalExample.Type)?.wrappedType ?? content)
        for length in common.indices.map({ $0 + 1 })
        where plain.types[Array(common.prefix(length))]?.contains(wanted) == true {
            common.removeLast(common.count - length)
            break
        }
        guard let path = try? FieldPath(common) else {
            throw FieldNameError(
                "\(keyPath) stands for no field: no field of \(Root.self) alone determines its value.")
        }
        return path
    }

    private static func example<Root: Decodable>(
        _ type: Root.Type, _ state: Probe.State, _ keyPath: AnyKeyPath
    ) throws(FieldNameError) -> Root {
        do {
            return try Probe(state: state, codingPath: []).example(of: type)
        } catch let error as FieldNameError {
            throw error
        } catch {
            throw FieldNameError("The field of \(keyPath) cannot be found: \(error)")
        }
    }

    /// Returns the value at a key path in a form that can be compared.
    private static func content(_ value: Any?, of keyPath: AnyKeyPath) throws(FieldNameError) -> EncodedExample {
        guard let value = value as? any Encodable else {
            throw FieldNameError("\(keyPath) stands for no field: its value is not Encodable.")
        }
        do {
            return try EncodedExample(value)
        } catch {
            throw FieldNameError("\(keyPath) stands for no field that can be stored: \(error)")
        }
    }
}

/// Finds the type within an optional one.
private protocol OptionalExample { static var wrappedType: any Any.Type { get } }
extension Optional: OptionalExample { fileprivate static var wrappedType: any Any.Type { Wrapped.self } }

/// The encoded form of an example.
private struct EncodedExample: Equatable {
    private struct Box<Content: Encodable>: Encodable { let box: Content }

    private let model: EncodedModel

    init(_ value: some Encodable) throws { model = try DocumentEncoder().encode(Box(box: value)) }
}

/// A key path whose field cannot be found. The message names the property and says what to do.
package struct FieldNameError: Error, CustomStringConvertible {
    package let message: String

    init(_ message: String) { self.message = message }

    package var description: String { message }
}
