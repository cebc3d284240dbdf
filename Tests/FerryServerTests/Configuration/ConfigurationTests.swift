import CommandLineTool
import Glibc
import IdentityProtocol
import IdentityServer
import ServerData
import SystemIO
import SystemTestKit
import Testing

@testable import FerryServer

struct ConfigurationTests {
    private func read(_ words: String...) throws -> ServerConfiguration {
        guard case .run(_, let arguments) = try FerryServerTool.command.parse(["run", "--data", "/d"] + words) else {
            throw ServerError(.failed, "not a command to run")
        }
        return try ConfigurationReader(arguments).configuration()
    }

    private func message(_ words: [String], file: String) throws -> String {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/c.yaml"
        try FileSystem.replace(path, with: Array(file.utf8))
        guard case .run(_, let arguments) = try FerryServerTool.command.parse(["run", "--config", path] + words) else {
            return ""
        }
        do {
            _ = try ConfigurationReader(arguments).configuration()
            return "accepted"
        } catch let error as ServerError {
            #expect(error.code == .configuration)
            return error.message
        }
    }

    @Test func `the defaults are on loopback`() throws {
        let configuration = try read()
        #expect(configuration == ServerConfiguration(data: "/d"))
        #expect(configuration.documents.isLoopback && configuration.http.isLoopback && !configuration.isEmulator)
    }

    @Test(
        arguments: [
            ([], .open), (["--insecure", "--http", "0.0.0.0:1"], .invite),
            (["--insecure", "--documents", "10.0.0.1:1"], .invite),
            (["--url", "https://tasks.example.org"], .invite), (["--url", "http://127.0.0.1:80"], .open),
            (["--emulator"], .open),
            (["--insecure", "--http", "0.0.0.0:1", "--sign-up", "open"], .open),
            (["--sign-up", "closed"], .closed),
        ] as [([String], SignUpPolicy)])
    func `accounts need an invitation if others can reach the server`(
        words: [String], policy: SignUpPolicy
    ) throws {
        guard case .run(_, let arguments) = try FerryServerTool.command.parse(["run", "--data", "/d"] + words) else {
            throw ServerError(.failed, "not a command to run")
        }
        #expect(try ConfigurationReader(arguments).configuration().signUp == policy)
    }

    @Test(arguments: ["http", "documents"])
    func `other machines are not served without TLS unless it is said`(name: String) throws {
        #expect(throws: ServerError.self) { try read("--\(name)", "0.0.0.0:1") }
        #expect(try read("--\(name)", "0.0.0.0:1", "--insecure").allowsPlaintext)
        #expect(try !read("--\(name)", "0.0.0.0:1", "--tls-cert", "c", "--tls-key", "k").allowsPlaintext)
        #expect(try message([], file: "data: /d\n\(name): 0.0.0.0:1\n").contains("without TLS"))
        #expect(try message([], file: "data: /d\n\(name): 0.0.0.0:1\ninsecure: true\n") == "accepted")
    }

    @Test func `what a reload cannot apply is named`() throws {
        let old = try read("--project", "one", "--quota-documents", "7")
        #expect(try read("--project", "one", "--quota-documents", "7").names(differingFrom: old).isEmpty)
        #expect(
            try read("--project", "two", "--http", "127.0.0.1:9", "--log-level", "debug").names(differingFrom: old)
                == ["http", "project", "quota-objects, quota-documents or quota-requests", "log-level"])
    }

    @Test func `quotas are set for all accounts`() throws {
        let quota = try read("--quota-objects", "2G", "--quota-documents", "7", "--quota-requests", "9").quota
        #expect(quota.objectBytes == 2 << 30 && quota.documents == 7 && quota.requestsPerSecond == 9)
        #expect(try message(["--quota-objects", "2 G"], file: "").contains("--quota-objects takes bytes"))
        #expect(try message(["--quota-requests", "0"], file: "").contains("takes a number from 1"))
        #expect(try message([], file: "sign-up: x").contains("open, invite, closed"))
    }

    @Test func `flags take precedence over the file`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/c.yaml"
        try FileSystem.replace(path, with: Array("http: 127.0.0.1:1\ndocuments: 127.0.0.1:2\nproject: p\n".utf8))
        let configuration = try read("--config", path, "--http", "[::1]:3")
        #expect(configuration.http == ListenAddress(host: "::1", port: 3))
        #expect(configuration.documents == ListenAddress(host: "127.0.0.1", port: 2))
        #expect(configuration.project == "p")
    }

    @Test func `several proxies may be trusted, by flags or by a list in the file`() throws {
        let two = TrustedProxies(try ["10.0.0.0/8", "::1"].map { try #require(IPNetwork($0)) })
        #expect(try read("--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1").trustedProxies == two)
        #expect(try read().trustedProxies.networks.isEmpty)
        #expect(try message([], file: "data: /d\ntrusted-proxy: [10.0.0.0/8, '::1']\n") == "accepted")
        #expect(try message([], file: "data: /d\ntrusted-proxy: proxy.example.org\n").contains("trusted-proxy"))
        #expect(throws: ServerError.self) { try read("--trusted-proxy", "10.0.0.0/33") }
    }

    @Test func `attachments may be in a bucket of another store`() throws {
        let objects = try read("--objects", "https://s3.example.org:9000/base/tasks/", "--objects-region", "eu-1")
            .objects
        #expect(objects?.url == "https://s3.example.org:9000/base")
        #expect(objects?.bucket == "tasks" && objects?.region == "eu-1")
        #expect(try read("--objects", "http://10.0.0.1/tasks").objects?.region == "us-east-1")
        for wrong in [
            "https://tasks", "https:///tasks", "tasks", "ftp://h/tasks", "https://h/T", "https://h/tasks?x", "",
        ] {
            #expect(throws: ServerError.self, "\(wrong)") { try read("--objects", wrong) }
        }
        #expect(throws: ServerError.self) { try read("--objects-region", "eu-1") }
        #expect(try read("--objects", "https://h/tasks", "--objects-keys", "/k").objectsKeys == "/k")
        #expect(throws: ServerError.self) { try read("--objects-keys", "/k") }
    }

    @Test func `a provider takes no secret, one in a file, or Apple's key`() throws {
        let directory = try TemporaryDirectory()
        let (secret, key) = ("\(directory.path)/secret", "\(directory.path)/AuthKey_KEY1234567.p8")
        try FileSystem.replace(secret, with: Array("very secret\n".utf8))
        #expect(system("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out \(key)") == 0)
        let apple = "apple=https://appleid.apple.com,org.example"
        func provider(_ rest: String) throws -> OpenIDConfiguration? {
            try read("--openid", apple + rest).providers.first
        }
        let plain = OpenIDConfiguration(name: "apple", issuer: "https://appleid.apple.com", clientID: "org.example")
        #expect(try provider("") == plain)
        #expect(try provider(",\(secret)")?.secret == .text("very secret"))
        let expected = try ClientSecretKey(pem: try FileSystem.read(key), team: "TEAM123456", id: "KEY1234567")
        #expect(try provider(",\(key),TEAM123456,KEY1234567")?.secret == .signed(expected))
        for wrong in [",\(key),TEAM123456", ",\(key),TEAM123456,", ",\(key),,KEY1234567", ",\(key),T,K,x"] {
            let message = try message(["--openid", apple + wrong], file: "")
            #expect(message.contains("takes NAME=ISSUER,CLIENT[,FILE[,TEAM,KEY]]"), "\(message)")
        }
        // The message names the file and what to do.
        for path in [secret, "\(directory.path)/missing.p8"] {
            let message = try message(["--openid", "\(apple),\(path),TEAM123456,KEY1234567"], file: "")
            #expect(message.contains("'\(path)' cannot be used. Name the file AuthKey_KEY1234567.p8"), "\(message)")
        }
    }

    @Test func `an unknown key names the nearest one and its line`() throws {
        let message = try message([], file: "http: 127.0.0.1:0\ndocment: x\n")
        #expect(message.contains("line 2") && message.contains("did you mean \"documents\""))
    }

    @Test func `every option is a key of the file`() throws {
        let file = """
            data: /d
            documents: 127.0.0.1:1
            http: 127.0.0.1:2
            project: p
            emulator: yes
            log-level: debug
            """
        #expect(try message([], file: file) == "accepted")
    }

    @Test func `one port cannot serve both`() throws {
        #expect(throws: ServerError.self) { try read("--http", "127.0.0.1:5", "--documents", "127.0.0.1:5") }
        _ = try read("--http", "127.0.0.1:0", "--documents", "127.0.0.1:0")
    }

    @Test(arguments: ["1.2.3.4:0", "0.0.0.0:0", "[::]:0", "example.org:0", "127.example.org:0", "[fe80::1]:0"])
    func `the emulator is refused where others could reach it`(address: String) throws {
        #expect(throws: ServerError.self) { try read("--emulator", "--http", address) }
    }

    @Test(arguments: [
        ("127.0.0.1:0", "127.0.0.1", 0), ("localhost:65535", "localhost", 65535), ("[::1]:7440", "::1", 7440),
        ("0.0.0.0:80", "0.0.0.0", 80),
    ])
    func `an address is a host and a port`(text: String, host: String, port: Int) {
        #expect(ListenAddress(text) == ListenAddress(host: host, port: port))
        #expect(ListenAddress(text)?.description == text)
    }

    @Test(arguments: [
        "", ":", "host", "host:", ":80", "host:65536", "host:-1", "host:+1", "::1:80", "[host]:1", "a/b:1", "a b:1",
    ])
    func `any other text is not an address`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(arguments: [
        ("https://tasks.example.org", "https://tasks.example.org", 443), ("HTTP://A:80/", "http://a", 80),
        ("https://a:80", "https://a:80", 80), ("http://[::1]:7441", "http://[::1]:7441", 7441),
        ("https://[::1]", "https://[::1]", 443), ("https://a:1443", "https://a:1443", 1443),
    ])
    func `a web address is a scheme, a host and a port`(text: String, description: String, port: Int) throws {
        let address = try #require(WebAddress(text))
        #expect(address.description == description && address.address.port == port)
    }

    @Test(arguments: [
        "", "https://", "tasks.example.org", "ftp://a", "https://a/b", "https://a?b", "https://a#b", "https://me@a",
        "https://a:0", "https://a:x", "https:///a", "https://a b", "https://::1",
    ])
    func `any other text is not a web address`(text: String) { #expect(WebAddress(text) == nil) }

    @Test func `documents have the address of the rest unless they have their own`() throws {
        let one = try #require(try read("--url", "https://a").published)
        #expect(one.documents == one.web)
        let two = try #require(try read("--url", "https://a", "--documents-url", "http://b:7440").published)
        #expect(two.documents.description == "http://b:7440")
        #expect(try read().published == nil)
        #expect(throws: ServerError.self) { try read("--documents-url", "https://a") }
        #expect(throws: ServerError.self) { try read("--url", "https://a/ferry") }
    }

    @Test func `an emulator behind a proxy is refused`() {
        #expect(throws: ServerError.self) { try read("--emulator", "--url", "https://a") }
    }
}
