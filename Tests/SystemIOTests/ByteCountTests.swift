import SystemIO
import Testing

struct ByteCountTests {
    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (50 << 30, "50.0 GiB"),
            (Int64.max, "8191.9 PiB"),
        ] as [(Int64, String)])
    func `bytes are written in binary units`(bytes: Int64, expected: String) {
        #expect(ByteCount.text(bytes) == expected)
    }
}
