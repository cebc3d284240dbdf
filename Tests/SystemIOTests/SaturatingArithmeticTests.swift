import SystemIO
import Testing

@Suite struct SaturatingArithmeticTests {
    private static let numbers: [Int8] = [.min, -127, -64, -2, -1, 0, 1, 2, 3, 63, 64, 126, .max]

    @Test(arguments: numbers, numbers) func `results are the nearest that fit`(left: Int8, right: Int8) {
        let (wideLeft, wideRight) = (Int(left), Int(right))
        #expect(left.saturatingAdded(to: right) == Int8(clamping: wideLeft + wideRight))
        #expect(left.saturatingSubtracted(by: right) == Int8(clamping: wideLeft - wideRight))
        #expect(left.saturatingMultiplied(by: right) == Int8(clamping: wideLeft * wideRight))
    }

    @Test func `every floating-point number is some integer`() {
        #expect(Int64(saturating: 1.9) == 1 && Int64(saturating: -1.9) == -1 && Int64(saturating: .nan) == 0)
        #expect(Int64(saturating: 1e300) == .max && Int64(saturating: -.infinity) == .min)
        #expect(Int64(saturating: 0x1p63) == .max)
    }

    @Test func `a share of any numbers is a percentage`() {
        #expect((5 as Int64).percentage(of: 10) == 50 && Int64.max.percentage(of: .max) == 100)
        #expect((Int64.max - 1).percentage(of: .max) <= 100 && (-1 as Int64).percentage(of: 10) == 0)
        #expect((0 as Int64).percentage(of: 0) == 100 && Int64.min.percentage(of: .max) == 0)
    }
}
