import ObjectStorage
import Testing

@testable import TaskSync

struct TransferFailureTests {
    @Test(
        arguments: [
            (.cancelled, false, 0, .cancelled), (.cancelled, true, 0, .cancelled),
            (.notFound, false, 1, .retryDamaged(reports: false)), (.corrupt, false, 2, .retryDamaged(reports: false)),
            (.notFound, false, 3, .retryDamaged(reports: true)), (.corrupt, false, 100, .retryDamaged(reports: true)),
            (.notFound, true, 1, .final), (.corrupt, true, 5, .final), (.invalid, false, 0, .final),
            (.invalid, true, 0, .final), (.full, false, 0, .waitForSpace), (.full, true, 0, .retry),
            (.transient, false, 0, .retry), (.permission, false, 0, .retry), (.unavailable, true, 0, .retry),
            (nil, false, 0, .retry),
        ] as [(ObjectStorageError.Code?, Bool, Int, TransferFailure.Verdict)])
    func `no download is given up over what a store answers wrongly for a while`(
        code: ObjectStorageError.Code?, isUpload: Bool, wrongAnswers: Int, verdict: TransferFailure.Verdict
    ) {
        #expect(TransferFailure.verdict(code, isUpload: isUpload, wrongAnswers: wrongAnswers) == verdict)
    }

    @Test func `waits for damaged content grow from a second to a quarter of an hour`() {
        #expect(TransferFailure.pause(wrongAnswers: 1, random: 0) == .milliseconds(500))
        #expect(TransferFailure.pause(wrongAnswers: 1, random: 1) == .seconds(1))
        #expect(TransferFailure.pause(wrongAnswers: 4, random: 1) == .seconds(8))
        for number in [11, 12, 1000, Int.max] {
            #expect(TransferFailure.pause(wrongAnswers: number, random: 1) == .seconds(900))
        }
        #expect(TransferFailure.pause(wrongAnswers: 0, random: 7) == .seconds(1))
    }

    private static let mebibyte: Int64 = 1 << 20

    @Test(
        arguments: [
            (64, 8), (512, 64), (1024, 64), (10_240, 102), (1 << 20, 10_485), (0, 0),
        ] as [(Int64, Int64)])
    func `a part of the disk stays free`(total: Int64, reserve: Int64) {
        let disk = DiskReserve(available: 0, total: total * Self.mebibyte)
        #expect(disk.reserve / Self.mebibyte == reserve)
    }

    @Test(
        arguments: [
            (1000, 900, 0, nil), (1000, 936, 0, nil), (1000, 937, 0, 1), (1000, 500, 436, nil), (1000, 500, 500, 64),
            (10, 1, 0, 55), (1000, 0, 0, nil), (1000, -5, -7, nil),
        ] as [(Int64, Int64, Int64, Int64?)])
    func `a file is downloaded where it fits beside the reserve and what is under way`(
        available: Int64, need: Int64, promised: Int64, lacking: Int64?
    ) {
        let disk = DiskReserve(available: available * Self.mebibyte, total: 4000 * Self.mebibyte)
        #expect(
            disk.lacking(for: need * Self.mebibyte, promised: promised * Self.mebibyte)
                == lacking.map { $0 * Self.mebibyte })
    }

    @Test func `sizes that nobody can have lack everything`() {
        let disk = DiskReserve(available: 1 << 40, total: 1 << 41)
        #expect(disk.lacking(for: .max, promised: .max) == .max)
        #expect(disk.lacking(for: .max) == .max - ((1 << 40) - disk.reserve))
    }
}
