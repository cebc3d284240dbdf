import Testing

@testable import SystemIO

@Suite struct MountTableTests {
    @Test func `Lines have the number and the place of a mount`() {
        let mounts = MountTable.parse(
            """
            23 1 0:21 / / rw,relatime shared:1 - ext4 /dev/vda rw
            36 23 98:0 /sub /home/me/My\\040Tasks\\134 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
            40 23 0:31 / /odd\\04 rw - tmpfs none rw

            short line
            x 1 0:21 / /no/number rw - ext4 /dev/vda rw
            """)
        #expect(
            mounts == [
                .init(number: 23, path: "/"), .init(number: 36, path: "/home/me/My Tasks\\"),
                .init(number: 40, path: "/odd\\04"),
            ])
    }

    @Test func `Mounts above and beneath a directory are around it`() throws {
        let all = try MountTable.mounts(around: "/")
        #expect(all.contains { $0.path == "/proc" })
        let proc = try MountTable.mounts(around: "/proc/self").map(\.path)
        #expect(proc.contains("/proc") && proc.contains("/") && !proc.contains("/dev"))
        #expect(try !MountTable.mounts(around: "/procession").contains { $0.path == "/proc" })
    }
}
