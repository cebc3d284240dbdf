import Testing
import YAML

@Suite struct YAMLCoreValueTests {
    @Test(arguments: [
        ("", YAMLCoreValue.null), ("~", .null), ("null", .null), ("nUll", .string), ("true", .boolean(true)),
        ("FALSE", .boolean(false)), ("yes", .string), ("0", .integer(0)), ("-12", .integer(-12)), ("+3", .integer(3)),
        ("0123", .integer(123)), ("0x1F", .integer(31)), ("0o17", .integer(15)), ("0x-1", .string), ("0x", .string),
        ("9223372036854775807", .integer(.max)), ("9223372036854775808", .double(9_223_372_036_854_775_808)),
        ("1.5", .double(1.5)), ("1.", .double(1)), (".5", .double(0.5)), ("-1e3", .double(-1000)), ("1e", .string),
        (".", .string), ("-", .string), ("+", .string), (".inf", .double(.infinity)), ("-.Inf", .double(-.infinity)),
        ("-.nan", .string), ("12:30", .string), ("2026-08-22", .string), ("1_000", .string), ("1.2.3", .string),
        ("0b1", .string), ("inf", .string), ("nan", .string), ("1e5x", .string),
    ])
    func `plain scalars follow the core schema`(text: String, value: YAMLCoreValue) {
        #expect(YAMLCoreValue(plain: text) == value)
    }

    @Test func `nan is a number`() {
        guard case .double(let value) = YAMLCoreValue(plain: ".nan") else {
            Issue.record("not a number")
            return
        }
        #expect(value.isNaN)
    }
}
