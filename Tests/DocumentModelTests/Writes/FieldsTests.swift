import DocumentModel
import Testing

@Suite struct FieldsTests {
    @Test func `literals make fields`() {
        let fields: [String: Value] = [
            "title": "Milk", "priority": 1, "done": false, "cost": 0.5, "tags": ["a"], "m": ["k": 2],
        ]
        #expect(
            fields == [
                "title": .string("Milk"), "priority": .integer(1), "done": .boolean(false), "cost": .double(0.5),
                "tags": .array([.string("a")]), "m": .map(["k": .integer(2)]),
            ])
        #expect(Value.vector([1, 2]) == ["__type__": "__vector__", "value": [1.0, 2.0]])
    }

    @Test func `a path reads and changes values in maps`() throws {
        var fields: [String: Value] = ["m": ["a": 1, "b": 2], "s": "x"]
        #expect(fields.value(at: ["m", "a"]) == 1)
        #expect(fields.value(at: ["s", "a"]) == nil)
        #expect(fields.value(at: []) == nil)
        fields.setValue(nil, at: ["m", "a"])
        fields.setValue(3, at: ["n", "x"])
        fields.setValue(nil, at: ["s", "x"])
        #expect(fields == ["m": ["b": 2], "n": ["x": 3], "s": "x"])
    }
}
