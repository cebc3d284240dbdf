import Testing

@testable import S3Server

struct LimitsTests {
    @Test func `uploads of an account are counted, and so are the bytes of their parts`() throws {
        let limits = UploadLimits(uploads: 2, bytes: 10 << 20)
        try limits.checkBeginning(besides: 1)
        #expect(throws: S3Error.self) { try limits.checkBeginning(besides: 2) }
        try limits.checkPart(5 << 20, besides: 5 << 20)
        #expect(throws: S3Error.self) { try limits.checkPart(5 << 20 + 1, besides: 5 << 20 + 1) }
        // The smallest part counts as 1 MiB.
        try limits.checkPart(1, besides: 9 << 20)
        #expect(throws: S3Error.self) { try limits.checkPart(1, besides: 9 << 20 + 1) }
        #expect(throws: S3Error.self) { try limits.checkPart(.max, besides: .max) }
    }

    @Test func `a refusal says what to do`() {
        #expect {
            try UploadLimits.anonymous.checkBeginning(besides: 100)
        } throws: { error in
            guard let error = error as? S3Error else { return false }
            return error.code == "QuotaExceeded" && error.message.contains("100") && error.message.contains("abort")
        }
    }

    @Test func `one account leaves memory for the others, and gives its own back`() {
        let memory = BodyMemory(100, accountLimit: 40)
        var shares = [memory.takeNow(40, "a/")]
        #expect(shares[0] != nil && memory.takeNow(1, "a/") == nil && memory.takeNow(41, "b/") == nil)
        shares += [memory.takeNow(30, "b/"), memory.takeNow(30, nil)]
        #expect(shares.allSatisfy { $0 != nil } && memory.takeNow(1, "c/") == nil)
        shares.removeFirst()
        #expect(memory.takeNow(40, "a/") != nil && memory.takeNow(.max, "a/") == nil && memory.takeNow(-1, "a/") != nil)
        shares.removeAll()
        let again = [memory.takeNow(40, "a/"), memory.takeNow(40, "b/")]
        #expect(again.allSatisfy { $0 != nil })
    }
}
