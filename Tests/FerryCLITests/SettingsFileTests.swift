import Testing

@testable import FerryCLI

@Suite struct SettingsFileTests {
    @Test func `a setting is added at the end`() {
        var file = SettingsFile("# mine\nlog-level: debug\n")
        file.set("tasks", to: "/home/me/My \"tasks\"")
        #expect(file.text == "# mine\nlog-level: debug\ntasks: \"/home/me/My \\\"tasks\\\"\"\n")
    }

    @Test(arguments: ["", "\n", "# nothing", "# nothing\n"])
    func `a file of comments stays one`(text: String) {
        var file = SettingsFile(text)
        file.set("tasks", to: "/t")
        #expect(file.text.hasSuffix("tasks: \"/t\"\n") && !file.text.contains("\n\n\n"))
    }

    @Test func `a setting that is there is replaced in its line, and one that it begins with is not`() {
        var file = SettingsFile("tasks-x: 1\ntasks: /old # why\nlog-level: info")
        file.set("tasks", to: "/new")
        #expect(file.text == "tasks-x: 1\ntasks: \"/new\"\nlog-level: info\n")
        let once = file
        file.set("tasks", to: "/new")
        #expect(file == once)
    }
}
