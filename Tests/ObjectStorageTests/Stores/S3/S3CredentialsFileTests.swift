import Glibc
import SystemIO
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
        let keys = S3CredentialsFile(path: path, for: "https://h/b")
        func refusal() -> ObjectStorageError? {
            do { _ = try keys.credentials(now: 0) } catch { return error }
            return nil
        }
        #expect(refusal()?.code == .permission)
        mkfifo(path, 0o600)
        #expect(refusal()?.message.contains("no regular file") == true)
        try FileSystem.replace(path, with: Array(Self.file.utf8), mode: 0o644)
        #expect(refusal()?.message.contains("chmod 600") == true)
        try FileSystem.replace(path, with: Array("nothing".utf8), mode: 0o600)
        #expect(refusal()?.message.contains("default") == true)
        try FileSystem.replace(path, with: Array(Self.file.utf8), mode: 0o600)
        #expect(try keys.credentials(now: 100).accessKey == "A")
        // Asked for again after a minute, as the store renews keys five minutes before their end.
        #expect(try keys.credentials(now: 100).expires == 460)
    }
}
