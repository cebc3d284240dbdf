import Testing
import YAML

@Suite struct YAMLConfigurationTests {
    private let text = """
        # where things are
        server: https://tasks.example
        port: 7441
        ratio: 0.5
        quiet: no
        lists: [Work, Home]
        one: Work
        level: info
        nothing:
        limits:
          upload: 10
          dowload: 20
        """

    private func configuration(_ text: String) throws -> YAMLConfiguration {
        try YAMLConfiguration(parsing: Array(text.utf8))
    }

    private func error(_ body: () throws -> Void) -> YAMLError? {
        do {
            try body()
            return nil
        } catch { return error as? YAMLError }
    }

    @Test func `values are read by type`() throws {
        let found = try configuration(text)
        #expect(try found.string("server") == "https://tasks.example")
        #expect(try found.integer("port", in: 0...65535) == 7441)
        #expect(try found.number("ratio", in: 0...1) == 0.5)
        #expect(try found.boolean("quiet") == false)
        #expect(try found.strings("lists") == ["Work", "Home"])
        #expect(try found.strings("one") == ["Work"])
        #expect(try found.choice("level", among: ["debug", "info"]) == "info")
        #expect(try found.string("nothing") == nil)
        #expect(try found.string("absent") == nil)
        #expect(try found.mapping("limits")?.integer("upload") == 10)
    }

    @Test func `an unknown key names the nearest right one and its line`() throws {
        let found = try configuration(text)
        let top = error { try found.allow(["servers", "port", "ratio", "quiet", "lists", "one", "level", "nothing"]) }
        #expect(top?.code == .unknownKey)
        #expect(top?.line == 2)
        #expect(top?.message == "unknown key \"server\"; did you mean \"servers\"?")
        let inner = error { try found.mapping("limits")?.allow(["upload", "download"]) }
        #expect(inner?.line == 12)
        #expect(inner?.column == 3)
        #expect(inner?.message == "unknown key \"limits.dowload\"; did you mean \"limits.download\"?")
        let far = error { try found.allow(["x"]) }
        #expect(far?.message == "unknown key \"server\"; the keys here are x")
    }

    @Test func `the error of a wrong type or range says what is expected`() throws {
        let found = try configuration(text)
        #expect(error { _ = try found.integer("server") }?.message == "server must be a whole number")
        #expect(
            error { _ = try found.integer("port", in: 0...100) }?.description
                == "line 3, column 7: port must be between 0 and 100")
        #expect(error { _ = try found.boolean("port") }?.message == "port must be true or false")
        #expect(error { _ = try found.string("lists") }?.message == "lists must be one value")
        #expect(error { _ = try found.choice("level", among: ["a", "b"]) }?.message == "level must be one of a, b")
        #expect(error { _ = try found.mapping("port") }?.code == .invalidValue)
        #expect(found.invalid("port", mustBe: "even").line == 3)
    }

    @Test func `an empty file is an empty configuration and a list is none`() throws {
        #expect(try configuration("").keys == [])
        #expect(error { _ = try self.configuration("- a\n") }?.code == .invalidValue)
    }

    @Test(arguments: [("tasks", "task"), ("sokcet", "socket"), ("Server", "server"), ("zzzzzz", nil)])
    func `the nearest word is found`(word: String, nearest: String?) {
        #expect(NearestWord.to(word, among: ["task", "socket", "server"]) == nearest)
    }
}
