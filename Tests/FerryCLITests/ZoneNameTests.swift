import Testing

@testable import FerryCLI

@Suite struct ZoneNameTests {
    @Test(
        arguments: [
            (nil, "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
            (nil, "../usr/share/zoneinfo/Etc/UTC", "Etc/UTC"),
            ("", "/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
            (":America/New_York", "/usr/share/zoneinfo/UTC", "America/New_York"),
            ("UTC", "", "UTC"), ("CET-1CEST,M3.5.0,M10.5.0/3", "/usr/share/zoneinfo/UTC", nil),
            (":/etc/localtime", "/usr/share/zoneinfo/UTC", nil), (nil, "", nil), (nil, "/etc/zone", nil),
            (nil, "/usr/share/zoneinfo", nil),
        ] as [(String?, String, String?)])
    func `the variable counts before the link`(variable: String?, link: String, name: String?) {
        #expect(ZoneName.name(variable: variable, link: link) == name)
    }
}
