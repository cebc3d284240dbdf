import Synchronization
import SystemIO
import Testing

@testable import SystemService

struct LogTests {
    private func line(_ message: String, _ metadata: [(key: String, value: String)] = []) -> String {
        LogRecord(level: .info, label: "sync", message: message, metadata: metadata).line
    }

    @Test func `a line names the part, the message and its details in order`() {
        #expect(line("sent", [("task", "a1"), ("bytes", "12")]) == "sync: sent task=a1 bytes=12")
    }

    @Test func `values that could be misread are quoted and line breaks escaped`() {
        #expect(line("a\nb", [("path", "My \"x\"\n=")]) == #"sync: a\nb path="My \"x\"\n=""#)
        #expect(line("", [("e", "")]) == #"sync:  e="""#)
        #expect(line("\u{1B}[31m") == #"sync: \u{1b}[31m"#)
        #expect(line("\u{202E}gpj.exe\u{200B}\u{2028}") == #"sync: \u{202e}gpj.exe\u{200b}\u{2028}"#)
    }

    @Test(arguments: ["token", "refreshToken", "Authorization", "s3_secret", "password"])
    func `values of secrets are hidden`(key: String) {
        #expect(line("signed in", [(key, "abc123")]) == "sync: signed in \(key)=(hidden)")
    }

    @Test func `the journal gets a priority and a terminal gets time and level`() {
        let record = LogRecord(level: .warning, label: "sync", message: "late")
        #expect(StandardErrorLog.text(record, isJournal: true) { "T" } == "<4>sync: late\n")
        #expect(StandardErrorLog.text(record, isJournal: false) { "T" } == "T warning sync: late\n")
    }

    @Test func `the journal is recognised by device and inode only`() throws {
        let status = try FileSystem.status("/")
        #expect(StandardErrorLog.isJournal(stream: "\(status.device):\(status.inode)", standardError: status))
        #expect(!StandardErrorLog.isJournal(stream: "\(status.device):1\(status.inode)", standardError: status))
        #expect(!StandardErrorLog.isJournal(stream: nil, standardError: status))
    }

    @Test func `a logger adds its details and drops messages below its level`() {
        let records = Mutex<[String]>([])
        let logger = Logger(label: "sync", level: .info) { record in records.withLock { $0.append(record.line) } }
        let task = logger.with("task", "a1")
        task.info("sent", ["bytes": "12"])
        task.debug("not shown")
        logger.labelled("http").error("refused")
        #expect(records.withLock { $0 } == ["sync: sent task=a1 bytes=12", "http: refused"])
        #expect(LogLevel("warning") == .warning && LogLevel("loud") == nil)
    }
}
