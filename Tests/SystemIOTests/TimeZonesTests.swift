import SystemIO
import Testing

struct TimeZonesTests {
    @Test func `a zone is a name, not a path`() {
        let zones = TimeZones()
        #expect(
            zones["America/Argentina/Buenos_Aires"] != nil && zones["UTC"] != nil
                && zones["Etc/GMT+5"] != nil)
        for name in [
            "", "/etc/localtime", "../zoneinfo/UTC", "Europe/../UTC", "Europe", "Mars/Base", "Europe/", "tzdata.zi",
            "a\0b",
        ] {
            #expect(zones[name] == nil, "\(name)")
        }
    }
}
