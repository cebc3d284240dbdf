import CommandLineTool
import ServerData
import SystemIO
import SystemTestKit
import Testing

@testable import FerryServer

struct SetupPlanTests {
    private static let files = ServerConfiguration.TLS(certificate: "/etc/my \"cert\".pem", key: "/etc/key.pem")

    /// Returns the server's reading of the configuration that setup writes.
    private func read(_ plan: SetupPlan) throws -> ServerConfiguration {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/ferry-server.yaml"
        try FileSystem.replace(path, with: Array(plan.configuration(usesCredentials: false).utf8))
        guard case .run(_, let arguments) = try FerryServerTool.command.parse(["run", "--config", path]) else {
            throw ServerError(.failed, "not a command to run")
        }
        return try ConfigurationReader(arguments).configuration()
    }

    @Test(
        arguments: [
            (nil, "http://127.0.0.1:7441", "127.0.0.1:7441"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("https://Tasks.example.org/", "https://tasks.example.org", "127.0.0.1:7441"),
        ] as [(String?, String, String)])
    func `without a certificate the server stays on loopback`(url: String?, login: String, http: String) throws {
        let plan = try SetupPlan(url: url, tls: nil, allowsPlaintext: false, data: "/d")
        #expect(plan.loginURL == login && plan.dropIn == nil)
        let configuration = try read(plan)
        #expect(configuration.http.description == http && configuration.documents.isLoopback)
        #expect((configuration.published?.web.description == login) == (url?.hasPrefix("https") ?? false))
        #expect(configuration.trustedProxies.networks.isEmpty == (configuration.published == nil))
    }

    @Test(
        arguments: [("https://nas.home", 7441), ("https://nas.home:9000", 9000)])
    func `with a certificate it listens for all machines`(url: String, port: Int) throws {
        let plan = try SetupPlan(url: url, tls: Self.files, allowsPlaintext: false, data: "/d")
        #expect(plan.loginURL == "https://nas.home:\(port)")
        #expect(SetupPlan.loginURL(in: plan.configuration(usesCredentials: true)) == plan.loginURL)
        let configuration = try read(plan)
        #expect(configuration.http == ListenAddress(host: "0.0.0.0", port: port) && configuration.tls == Self.files)
        #expect(configuration.published == nil && !configuration.allowsPlaintext)
        #expect(plan.dropIn?.contains("LoadCredential=tls-key:/etc/key.pem\n") == true)
        #expect(plan.configuration(usesCredentials: true).contains("/run/credentials/ferry-server.service/tls-key"))
    }

    @Test func `without TLS only where it is said`() throws {
        #expect(throws: ServerError.self) {
            try SetupPlan(url: "http://10.0.0.1", tls: nil, allowsPlaintext: false, data: "/d")
        }
        let plan = try SetupPlan(url: "http://10.0.0.1", tls: nil, allowsPlaintext: true, data: "/d")
        #expect(try read(plan).allowsPlaintext && plan.loginURL == "http://10.0.0.1:7441")
    }

    @Test(arguments: ["tasks.example.org", "https://", "ftp://x", "https://x/path", "https://nas.home:80"])
    func `what is no address that can be served is refused`(url: String) {
        #expect(throws: ServerError.self) {
            try SetupPlan(url: url, tls: Self.files, allowsPlaintext: true, data: nil)
        }
    }
}
