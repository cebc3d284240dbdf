import IdentityProtocol
import JSON
import Testing

struct IdentityProtocolTests {
    @Test func `a quota report is read as it was written, and wrong numbers count as none`() throws {
        var allowed = AccountQuota()
        (allowed.objectBytes, allowed.documents, allowed.requestsPerSecond) = (1, 2, 3)
        let report = QuotaReport(used: AccountUsage(objectBytes: 4, documents: 5), allowed: allowed)
        #expect(QuotaReport(json: try JSON(parsing: report.json.bytes)) == report)
        let damaged = QuotaReport(json: ["objectBytes": -1, "documents": "7", "documentsLimit": 9])
        #expect(damaged.used == AccountUsage(objectBytes: 0, documents: 0))
        #expect(damaged.allowed.documents == 9 && damaged.allowed.objectBytes == 0)
    }

    @Test(arguments: [
        IdentityError.Code.invalidCredentials, .emailExists, .weakPassword, .tokenExpired, .signUpRestricted,
    ])
    func `an error is known by the first word of its name`(code: IdentityError.Code) throws {
        let name = try #require(code.toolkitName?.split(separator: " ").first)
        #expect(IdentityError.Code(toolkitName: String(name)) == code)
    }

    @Test func `names of other servers are known, and unknown ones are not guessed`() {
        #expect(IdentityError.Code(toolkitName: "INVALID_REFRESH_TOKEN") == .tokenExpired)
        #expect(IdentityError.Code(toolkitName: "") == nil)
        #expect(IdentityError.Code.offline.toolkitName == nil)
    }
}
