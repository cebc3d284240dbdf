import JSON
import Testing

@Suite struct JSONTests {
    @Test(arguments: [
        #"null"#, #"true"#, #"[]"#, #"{}"#, #"[1,-2,9223372036854775807,-9223372036854775808]"#, #"[0.5,1e+100]"#,
        #"{"b":1,"a":{"x":[{"y":null}]}}"#, #""é \"quoted\" back\\slash \n\r\t \u0001 🚀""#,
    ])
    func `parsed text is written unchanged`(text: String) throws {
        #expect(try JSON(parsing: text).text == text)
    }

    @Test func `escapes and surrogate pairs are understood`() throws {
        #expect(try JSON(parsing: #" "\ud83d\ude80\u00e9\/\b\f" "#) == .string("🚀é/\u{8}\u{C}"))
    }

    @Test func `an integer too large becomes a number`() throws {
        #expect(try JSON(parsing: "9223372036854775808") == .number(9_223_372_036_854_775_808))
        #expect(try JSON(parsing: "1.0").integerValue == 1)
    }

    @Test(arguments: [
        "", " ", "{", "[1,]", "[1 2]", #"{"a":1,"a":2}"#, #"{"a" 1}"#, "{1:2}", "01", "-", "1.", "1e", "+1", "nul",
        "tru ",
        #""\x""#, #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, "\"\u{1}\"", #""abc"#, "1 2", "1e999", #""\u00g0""#,
    ])
    func `text that is not JSON is rejected`(text: String) {
        #expect(throws: JSONError.self) { try JSON(parsing: text) }
    }

    @Test func `invalid UTF-8 is refused`() {
        #expect(throws: JSONError.self) { try JSON(parsing: [0x22, 0xC3, 0x28, 0x22]) }
        #expect(throws: JSONError.self) { try JSON(parsing: [0x22, 0xED, 0xA0, 0x80, 0x22]) }
    }

    @Test func `nesting is bounded`() {
        #expect(throws: JSONError.self) { try JSON(parsing: String(repeating: "[", count: 100_000)) }
    }

    @Test func `a large object finds its duplicate`() {
        let members = (0..<40).map { "\"k\($0)\":0" }
        #expect(throws: Never.self) { try JSON(parsing: "{" + members.joined(separator: ",") + "}") }
        #expect(throws: JSONError.self) {
            try JSON(parsing: "{" + (members + ["\"k3\":1"]).joined(separator: ",") + "}")
        }
    }

    @Test func `objects are equal in any order and keep their own`() throws {
        let object = try JSON(parsing: #"{"b":1,"a":2}"#)
        #expect(object == ["a": 2, "b": 1])
        #expect(object.objectValue?.keys == ["b", "a"])
        #expect(object["a"]?.integerValue == 2)
        #expect(object["c"] == nil)
    }

    @Test(arguments: 0..<200) func `mutated texts never trap`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var bytes = Array(#"{"a":[1,2.5e3,"x\u00e9\n",true,null],"b":{"c":"🚀"}}"#.utf8)
        for _ in 0..<3 { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next()) }
        if let value = try? JSON(parsing: bytes) {
            #expect((try? JSON(parsing: value.bytes)) == value, "seed \(seed)")
            #expect((try? JSON(parsing: value.prettyBytes)) == value, "seed \(seed)")
        }
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
