import Testing

@testable import FerryDaemon

@Suite struct OtherSyncTests {
    @Test(arguments: [
        (".stfolder", "Syncthing"), (".dropbox.cache", "Dropbox"), ("._sync_0a1b2c.db", "Nextcloud or ownCloud"),
        (".sync_0a1b2c.db", "Nextcloud or ownCloud"), (".dropbox", nil), (".ferry", nil), ("sync_.db", nil),
        (".sync_me", nil),
    ])
    func `a program is known by what it leaves`(name: String, program: String?) {
        #expect(OtherSync.program(among: ["Plan.md", name]) == program)
    }

    @Test func `names of conflict copies are known, others are not`() {
        #expect(OtherSync.isConflictCopy("Plan.sync-conflict-20261122-101500-ABCDEFG"))
        #expect(OtherSync.isConflictCopy("Plan (laptop's conflicted copy 2026-11-22)"))
        #expect(!OtherSync.isConflictCopy("Resolve the sync conflict"))
    }
}
