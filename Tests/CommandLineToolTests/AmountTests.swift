import CommandLineTool
import Testing

struct AmountTests {
    @Test(
        arguments: [
            ("0", 0), ("1", 1), ("20G", 20 << 30), ("500M", 500 << 20), ("3K", 3072), ("1T", 1 << 40), ("", nil),
            ("G", nil),
            ("-1", nil), ("1.5G", nil), ("1g", nil), ("99999999999999999999", nil), ("9999999999T", nil), ("+1", nil),
        ] as [(String, Int64?)])
    func `bytes have units`(text: String, expected: Int64?) { #expect(Amount.bytes(text) == expected) }

    @Test(
        arguments: [
            ("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600), ("7", nil), ("0d", nil), ("d", nil),
            ("9999999d", nil), ("1y", nil), ("", nil),
        ] as [(String, Int64?)])
    func `times have units`(text: String, expected: Int64?) { #expect(Amount.seconds(text) == expected) }
}
