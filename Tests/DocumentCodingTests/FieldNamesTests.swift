import DocumentModel
import FoundationEssentials
import Testing

@testable import DocumentCoding

private enum Priority: Int, Codable { case high, medium, low }
private enum State: String, Codable { case open, done }
private enum Kind: String, Codable, CaseIterable {
    case a = "first"
    case b = "second"
}
private enum Shape: Codable, Equatable {
    case circle(Double)
    case point
}
private enum Known: Codable, FieldExamples {
    case circle(Double)
    case point
    static let fieldExamples = (Known.point, Known.circle(1))
}

private struct Item: Codable {
    struct Detail: Codable, Equatable {
        var notes: String
        var due: Date?
        var place: GeoPoint?
    }
    var title: String
    var isDone: Bool
    var priority: Priority?
    var state: State
    var kind: Kind
    var known: Known
    var tags: [String]
    var parts: [Detail]
    var detail: Detail
    var extra: Detail?
    var meta: [String: Int]
    var link: URL?
    var created: Date
    var shout: String { title + "!" }
    var constant: Int { 3 }
    enum CodingKeys: String, CodingKey {
        case isDone = "completed"
        case title, priority, state, kind, known, tags, parts, detail, extra, meta, link
        case created = "createdTime"
    }
}

struct FieldNamesTests {
    private func path<Content>(_ keyPath: any KeyPath<Item, Content> & Sendable) throws -> String {
        try FieldNames.path(of: keyPath).description
    }

    @Test func `key paths have the names of coding keys`() throws {
        #expect(try path(\.title) == "title")
        #expect(try path(\.isDone) == "completed")
        #expect(try path(\.priority) == "priority")
        #expect(try path(\.state) == "state")
        #expect(try path(\.kind) == "kind")
        #expect(try path(\.known) == "known")
        #expect(try path(\.tags) == "tags")
        #expect(try path(\.parts) == "parts")
        #expect(try path(\.meta) == "meta")
        #expect(try path(\.link) == "link")
        #expect(try path(\.created) == "createdTime")
    }

    @Test func `nested and optional fields have paths`() throws {
        #expect(try path(\.detail) == "detail")
        #expect(try path(\.detail.notes) == "detail.notes")
        #expect(try path(\.detail.due) == "detail.due")
        #expect(try path(\.detail.place) == "detail.place")
        #expect(try path(\.extra) == "extra")
        #expect(try path(\.extra?.due) == "extra.due")
    }

    @Test func `a structure with a single field is above it`() throws {
        struct Outer: Codable {
            struct Box: Codable { var inner: Inner }
            struct Inner: Codable { var only: Int }
            var box: Box
            var other: Box?
        }
        #expect(try FieldNames.path(of: \Outer.box).description == "box")
        #expect(try FieldNames.path(of: \Outer.box.inner).description == "box.inner")
        #expect(try FieldNames.path(of: \Outer.box.inner.only).description == "box.inner.only")
        #expect(try FieldNames.path(of: \Outer.other).description == "other")
        #expect(try FieldNames.path(of: \Outer.other?.inner).description == "other.inner")
    }

    @Test func `a computed property has the field it is computed from`() throws {
        #expect(try path(\.shout) == "title")
    }

    @Test func `a key path that stands for no field is named`() {
        let error = #expect(throws: FieldNameError.self) { try path(\.constant) }
        #expect(error?.message.contains("stands for no field: no field of Item") == true)
    }

    @Test func `a type without examples is named with what to do`() {
        struct Drawing: Codable { var name: String; var shape: Shape }
        let error = #expect(throws: FieldNameError.self) { try FieldNames.path(of: \Drawing.name) }
        #expect(error?.message.contains("shape is a Shape") == true)
        #expect(error?.message.contains("FieldExamples") == true)
    }

    @Test func `a name is resolved once`() throws {
        _ = try path(\.detail.due)
        let clock = ContinuousClock()
        let time = try clock.measure { for _ in 0..<10_000 { _ = try path(\.detail.due) } }
        // Without the cache, 10,000 resolutions take seconds.
        #expect(time < .milliseconds(500))
    }
}
