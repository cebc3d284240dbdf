import AccountClient
import Control
import DocumentClient
import JSON
import SystemIO
import SystemTestKit
import Testing

@testable import FerryDaemon

struct SyncingTests {
    @Test func `a server's name has one form`() throws {
        #expect(try Discovery.normalized("HTTP://Example.ORG:7441//") == "http://example.org:7441")
        #expect(try Discovery.normalized("https://example.org/Ferry/") == "https://example.org/Ferry")
    }

    @Test(arguments: ["", "example.org", "ftp://example.org", "http://", "http://a b", "http://u:p@host", "http://h?x"])
    func `a text that is not the URL of a server is refused with a hint`(url: String) {
        #expect {
            try Discovery.normalized(url)
        } throws: { error in
            (error as? ControlError)?.code == .invalidArgument && (error as? ControlError)?.hint != nil
        }
    }

    private let discovery: JSON = [
        "version": "0.1.0", "project": "ferry", "database": "(default)",
        "documents": ["address": "127.0.0.1:7440", "tls": false],
        "objects": ["url": "http://127.0.0.1:7441", "bucket": "ferry", "region": "us-east-1"],
        "identity": ["url": "http://127.0.0.1:7441"], "sts": ["url": "http://127.0.0.1:7441"],
    ]

    @Test func `a discovery document is remembered as it was`() throws {
        let server = try #require(ServerDescription(url: "http://127.0.0.1:7441", discovery: discovery))
        #expect(ServerDescription(remembered: server.json) == server)
        #expect(!server.documentsUseTLS)
    }

    @Test func `a discovery document without a part is refused`() {
        for key in ["project", "database", "documents", "objects", "identity"] {
            guard case .object(var members) = discovery else { return }
            members[key] = nil
            #expect(ServerDescription(url: "http://x", discovery: .object(members)) == nil, "without \(key)")
        }
    }

    @Test func `another account or database has another replica, and a server's new address the same`() throws {
        let directory = try TemporaryDirectory()
        let state = try StateDirectory(path: "\(directory.path)/state")
        let server = try #require(ServerDescription(url: "http://a", discovery: discovery))
        let moved = try #require(ServerDescription(url: "https://b", discovery: discovery))
        var other = server
        other.project = "another"
        let paths = [server.identity(of: "u1"), server.identity(of: "u2"), other.identity(of: "u1")].map(state.replica)
        #expect(Set(paths).count == 3)
        #expect(state.replica(of: moved.identity(of: "u1")) == paths[0])
        #expect(try state.isNew)
    }

    @Test func `one daemon at a time has a state directory, which only its user can enter`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/state"
        try FileSystem.makeDirectories(path, mode: 0o755)
        do {
            let state = try StateDirectory(path: path)
            #expect(try FileSystem.status(path).mode & 0o777 == 0o700)
            #expect(throws: DaemonError.self) { try StateDirectory(path: path) }
            withExtendedLifetime(state) {}
        }
        _ = try StateDirectory(path: path)
    }

    @Test func `one daemon at a time has a tasks directory`() throws {
        let directory = try TemporaryDirectory()
        let (first, second) = (RootLock(directory.path), RootLock(directory.path))
        try first.take()
        try first.take()
        #expect(first.isHeld)
        #expect(throws: SystemError.self) { try second.take() }
        first.release()
        try second.take()
        #expect(throws: SystemError.self) { try first.take() }
        let absent = RootLock("\(directory.path)/absent")
        try absent.take()
        #expect(!absent.isHeld)
    }

    @Test func `the pause survives the daemon`() throws {
        let directory = try TemporaryDirectory()
        do {
            let state = try StateDirectory(path: directory.path)
            #expect(!state.isPaused)
            try state.setPaused(true)
        }
        let state = try StateDirectory(path: directory.path)
        #expect(state.isPaused)
        try state.setPaused(false)
        #expect(!state.isPaused)
    }

    @Test func `a damaged replica is renamed with its journal files`() throws {
        let directory = try TemporaryDirectory()
        let state = try StateDirectory(path: directory.path)
        let replica = state.replica(of: "x")
        try FileSystem.replace(replica, with: [1])
        try FileSystem.replace(replica + "-wal", with: [2])
        let place = try state.setAside(replica: replica, time: "77")
        #expect(place.hasSuffix(".damaged-77"))
        #expect(!FileSystem.exists(replica) && !FileSystem.exists(replica + "-wal"))
        #expect(FileSystem.exists(place) && FileSystem.exists(place + "-wal"))
    }
}
