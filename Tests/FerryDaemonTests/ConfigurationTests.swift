import CommandLineTool
import ObjectStorage
import SystemIO
import SystemService
import SystemTestKit
import TaskModel
import Testing

@testable import FerryDaemon

struct ConfigurationTests {
    private func read(
        _ words: [String] = [], _ environment: [String: String] = [:], home: String = "/home/ada"
    ) throws -> DaemonConfiguration {
        guard case .run(_, let arguments) = try DaemonTool.command.parse(words) else {
            throw DaemonError(.failed, "no command")
        }
        return try ConfigurationReader(arguments, workingDirectory: "/srv") { name in
            environment[name] ?? (name == "HOME" ? home : nil)
        }.configuration()
    }

    private func failure(_ words: [String] = [], _ environment: [String: String] = [:], home: String = "/home/ada")
        -> DaemonError?
    {
        do {
            _ = try read(words, environment, home: home)
            return nil
        } catch {
            return error as? DaemonError
        }
    }

    private func write(_ text: String, in directory: TemporaryDirectory) throws -> String {
        let path = "\(directory.path)/ferryd.yaml"
        try FileSystem.replace(path, with: Array(text.utf8))
        return path
    }

    @Test func `each setting has its source, and a draft can replace the file`() throws {
        guard case .run(_, let arguments) = try DaemonTool.command.parse(["--tasks", "/t"]) else { return }
        let reader = try ConfigurationReader(
            arguments, workingDirectory: "/srv",
            environment: { ["HOME": "/home/ada", "FERRY_LOG_LEVEL": "debug"][$0] },
            draft: ConfigurationReader.Draft(name: "new.yaml", text: "upload-limit: 2M\ndevice-name: Ada's laptop\n"))
        let entries = try reader.entries()
        #expect(entries.map(\.setting.name) == Setting.all.map(\.name))
        let found = Dictionary(uniqueKeysWithValues: entries.map { ($0.setting.name, ($0.value, $0.source)) })
        #expect(try #require(found["tasks"]) == ("/t", "--tasks"))
        #expect(try #require(found["log-level"]) == ("debug", "FERRY_LOG_LEVEL"))
        #expect(try #require(found["upload-limit"]) == ("2M", "new.yaml"))
        #expect(try #require(found["device-name"]).0 == "Ada's laptop")
        #expect(try #require(found["download-limit"]) == ("", "default"))
        #expect(failure(["--device-name", ""])?.message.contains("--device-name") == true)
        #expect(failure(["--device-name", "a\nb"])?.code == .configuration)
        #expect(try !read().deviceName.isEmpty)
    }

    @Test func `defaults are in the user's home and runtime directory`() throws {
        let configuration = try read([], ["XDG_RUNTIME_DIR": "/run/user/1"])
        #expect(configuration.tasks == "/home/ada/Tasks")
        #expect(configuration.state == "/home/ada/.local/share/ferry")
        #expect(configuration.socket == "/run/user/1/ferry/ferryd.sock")
        #expect(try read().socket == "/run/ferry/ferryd.sock")
    }

    @Test func `a flag takes precedence over a variable, and a variable over the file`() throws {
        let directory = try TemporaryDirectory()
        let file = try write("tasks: ~/Filed\nstate: /filed/state\nlog-level: debug\n", in: directory)
        let environment = ["FERRY_CONFIG": file, "FERRY_TASKS": "/variable", "FERRY_STATE": "/variable/state/"]
        let configuration = try read(["run", "--state", "relative/./state"], environment)
        #expect(configuration.tasks == "/variable")
        #expect(configuration.state == "/srv/relative/state")
        #expect(configuration.logLevel == .debug)
        #expect(try read([], ["FERRY_CONFIG": file]).tasks == "/home/ada/Filed")
    }

    @Test func `the default file may be absent, a named one may not`() throws {
        let directory = try TemporaryDirectory()
        #expect(failure([], [:], home: directory.path) == nil)
        let error = failure(["--config", "\(directory.path)/none.yaml"])
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("none.yaml") == true)
    }

    @Test func `an unknown key names its line and the nearest right one`() throws {
        let directory = try TemporaryDirectory()
        let file = try write("state: /s\ntask: /t\n", in: directory)
        let error = failure(["--config", file])
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("line 2") == true)
        #expect(error?.message.contains("\"tasks\"") == true)
    }

    @Test func `an unknown flag names the nearest right one`() {
        #expect {
            _ = try DaemonTool.command.parse(["--sokcet", "/x"])
        } throws: {
            "\($0)".contains("--socket")
        }
    }

    @Test(arguments: [
        ("log-level: loud\n", "log-level"), ("tasks: relative\n", "must begin with"),
        ("upload-limit: fast\n", "bytes per second"),
        ("- a\n", "key: value"), ("tasks: [a]\n", "one value"), ("tasks: /a\nstate: /a/b\n", "separate"),
    ])
    func `an invalid value is refused with the reason`(text: String, reason: String) throws {
        let directory = try TemporaryDirectory()
        let error = failure(["--config", try write(text, in: directory)])
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "no error")")
    }

    @Test func `rates have units and zero means unlimited`() throws {
        let directory = try TemporaryDirectory()
        let file = try write("upload-limit: 500K\ndownload-limit: 0\n", in: directory)
        #expect(try read(["--config", file]).uploadLimit == 512_000)
        #expect(try read(["--config", file]).downloadLimit == nil)
        #expect(try read(["--download-limit", "2m"]).downloadLimit == 2 << 20)
        #expect(failure(["--upload-limit", "9999999999999999G"])?.message.contains("--upload-limit") == true)
    }

    @Test func `the trash keeps for a number of days, or for ever`() throws {
        let directory = try TemporaryDirectory()
        #expect(try read([]).trashDays == 30)
        let file = try write("trash-days: 7\n", in: directory)
        #expect(try read(["--config", file]).trashDays == 7)
        #expect(try read(["--config", file, "--trash-days", "0"]).trashDays == 0)
        for wrong in ["-1", "soon", "99999999999999999999"] {
            #expect(failure(["--trash-days", wrong])?.message.contains("--trash-days") == true)
        }
    }

    @Test func `reminders are on or off`() throws {
        let directory = try TemporaryDirectory()
        #expect(try read([]).showsReminders)
        let file = try write("reminders: off\n", in: directory)
        #expect(try !read(["--config", file]).showsReminders)
        #expect(try read(["--config", file, "--reminders", "on"]).showsReminders)
        let wrong = try write("reminders: sometimes\n", in: directory)
        #expect(failure(["--config", wrong])?.message.contains("reminders") == true)
    }

    @Test func `tasks that are due on a day remind at a time or not`() throws {
        let directory = try TemporaryDirectory()
        #expect(try read([]).reading.dayReminder == nil)
        let file = try write("day-reminders: '8:30'\n", in: directory)
        #expect(try read(["--config", file]).reading.dayReminder == 30_600)
        #expect(try read(["--config", file, "--day-reminders", "off"]).reading.dayReminder == nil)
        for wrong in ["8", "24:00", "8:60", "8:5", "-1:00", "8:00:00", ""] {
            #expect(failure(["--day-reminders", wrong])?.message.contains("--day-reminders") == true, "\(wrong)")
        }
    }

    @Test func `words of vaults are added to those that are known`() throws {
        let directory = try TemporaryDirectory()
        #expect(try read([]).reading.vocabulary == .standard)
        let file = try write(
            "status-words: Offen, in  Arbeit | Erledigt ; wip | shipped | binned\npriority-words: dringend | | egal\n",
            in: directory)
        let words = try read(["--config", file]).reading.vocabulary
        #expect(words.status("in arbeit") == .open && words.status("binned") == .cancelled)
        #expect(words.word(for: true, insteadOf: "wip") == "shipped")
        #expect(words.priority("egal") == .some(.low) && words.priority("urgent") == .some(.high))
        for wrong in ["open", "| done", "a | b | c | d"] {
            #expect(failure(["--status-words", wrong])?.message.contains("--status-words") == true)
        }
        #expect(failure(["--priority-words", "urgent"])?.message.contains("--priority-words") == true)
    }

    @Test func `compression is auto, off or a level`() throws {
        let directory = try TemporaryDirectory()
        let file = try write("compression: 6\n", in: directory)
        #expect(try read(["--config", file]).compression == .level(6))
        #expect(try read(["--config", file, "--compression", "off"]).compression == .off)
        #expect(try read(["--config", file, "--compression", "auto"]).compression == .automatic)
        #expect(try read(["--compression", "9"]).compression == .level(9))
        let wrong = failure(["--config", try write("compression: 10\n", in: directory)])
        #expect(wrong?.message.contains("1 (fast) to 9 (small)") == true)
    }

    @Test func `every setting is a flag, a key, and in both manual pages`() {
        for setting in Setting.all {
            #expect(ManualPages.daemon.contains(setting.name.replacing("-", with: "\\-")))
            #expect(ManualPages.configuration.contains(setting.variable))
        }
    }

    @Test func `bad configuration ends with status 78, bad usage elsewhere with 2`() async {
        #expect(await DaemonTool.run(["--sokcet", "/x"]) == 78)
        #expect(await DaemonTool.run(["run", "--config", "/nowhere/ferryd.yaml"]) == 78)
        #expect(await DaemonTool.run(["completion", "tcsh"]) == 2)
    }
}
