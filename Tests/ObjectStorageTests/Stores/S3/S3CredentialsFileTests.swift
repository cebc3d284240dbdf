import Glibc
import SystemIO
import SystemTestKit
import Testing

@testable import ObjectStorage

struct S3CredentialsFileTests {
    private static let file = """
        ; a comment
        [other]
        aws_access_key_id = O
        aws_secret_access_key = P
        [ default ]
        # aws_access_key_id = X
        AWS_ACCESS_KEY_ID=A
        aws_secret_access_key =\tB=/+
        aws_session_token=
        region = eu
        """

    @Test func `keys are those of the default profile`() throws {
        let keys = try #require(S3CredentialsFile.keys(in: Self.file, expires: 7))
        #expect(keys.accessKey == "A" && keys.secretKey == "B=/+" && keys.sessionToken == nil && keys.expires == 7)
        let token = S3CredentialsFile.keys(
            in: "aws_access_key_id=A\r\naws_secret_access_key=B\r\naws_session_token=T\r\n", expires: nil)
        #expect(token?.sessionToken == "T")
        for text in ["", "[default]", "[x]\naws_access_key_id=A\naws_secret_access_key=B", "aws_access_key_id=A"] {
            #expect(S3CredentialsFile.keys(in: text, expires: nil) == nil)
        }
    }

    @Test func `keys that others can read are not taken, and files are read again`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/keys"
        let keys = S3CredentialsFile(path: path, for: "https://h/b", credentialsDirectory: nil)
        func refusal() -> ObjectStorageError? {
            do { _ = try keys.credentials(now: 0) } catch { return error }
            return nil
        }
        #expect(refusal()?.code == .permission)
        mkfifo(path, 0o600)
        #expect(refusal()?.message.contains("not a regular file") == true)
        try FileSystem.replace(path, with: Array(Self.file.utf8), mode: 0o644)
        #expect(refusal()?.message.contains("chmod 600") == true)
        try FileSystem.replace(path, with: Array("nothing".utf8), mode: 0o600)
        #expect(refusal()?.message.contains("default") == true)
        try FileSystem.replace(path, with: Array(Self.file.utf8), mode: 0o600)
        #expect(try keys.credentials(now: 100).accessKey == "A")
        // The file is read again after a minute, because the store renews credentials five minutes
        // before their expiry.
        #expect(try keys.credentials(now: 100).expires == 460)
    }

    @Test(arguments: [(0o400, true), (0o440, true), (0o640, true), (0o460, false), (0o444, false), (0o441, false)])
    func `a file of the service manager has its access control list in the group bits`(
        mode: UInt32, isTaken: Bool
    ) throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/keys"
        try FileSystem.replace(path, with: Array(Self.file.utf8), mode: 0o600)
        #expect(chmod(path, mode) == 0)
        func takes(with credentialsDirectory: String?) -> Bool {
            let keys = S3CredentialsFile(path: path, for: "https://h/b", credentialsDirectory: credentialsDirectory)
            return (try? keys.credentials(now: 0)) != nil
        }
        #expect(takes(with: directory.path) == isTaken)
        #expect(takes(with: nil) == (mode == 0o400) && takes(with: path) == (mode == 0o400))
    }
}
