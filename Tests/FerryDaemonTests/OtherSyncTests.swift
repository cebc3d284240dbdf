import SystemIO
import SystemTestKit
import Testing

@testable import FerryDaemon

@Suite struct OtherSyncTests {
    @Test(arguments: [
        (".stfolder", "Syncthing"), (".dropbox.cache", "Dropbox"), ("._sync_0a1b2c.db", "Nextcloud or ownCloud"),
        (".sync_0a1b2c.db", "Nextcloud or ownCloud"), (".dropbox", nil), (".ferry", nil), ("sync_.db", nil),
        (".sync_me", nil), (".dropbox.device", "Dropbox"), (".Plan.md.icloud", "iCloud Drive"),
        (".SyncID", "Resilio Sync"),
        ("Plan.icloud", nil),
    ])
    func `a program is recognized by its files`(name: String, program: String?) {
        #expect(OtherSync.program(among: ["Plan.md", name]) == program)
    }

    @Test func `a directory below a working tree of Git is known`() throws {
        let directory = try TemporaryDirectory()
        let tasks = "\(directory.path)/home/Tasks"
        try FileSystem.makeDirectories(tasks)
        #expect(OtherSync.workingTree(around: tasks, home: nil) == nil)
        let home = "\(directory.path)/home"
        try FileSystem.makeDirectories("\(home)/.git")
        #expect(OtherSync.workingTree(around: tasks, home: nil) == home)
        #expect(OtherSync.workingTree(around: tasks, home: home) == nil, "settings are often kept with Git")
        try FileSystem.makeDirectories("\(tasks)/.git")
        #expect(OtherSync.workingTree(around: tasks, home: home) == tasks)
    }

    @Test func `names of conflict copies are known, others are not`() {
        #expect(OtherSync.isConflictCopy("Plan.sync-conflict-20261122-101500-ABCDEFG"))
        #expect(OtherSync.isConflictCopy("Plan (laptop's conflicted copy 2026-11-22)"))
        #expect(!OtherSync.isConflictCopy("Resolve the sync conflict"))
    }
}
