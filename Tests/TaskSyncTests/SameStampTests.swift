import DocumentStore
import Glibc
import ObjectStorage
import SystemIO
import TaskFolder
import Testing

@testable import TaskSync

/// Edits that leave a file's size and time of modification as they were.
@Suite(.serialized) struct SameStampTests {
    /// Writes in place and sets the time of modification back, as encrypted containers and `rsync --inplace -t` do.
    private func editKeepingTime(_ machine: Machine, _ name: String, _ text: String) throws {
        var before = stat()
        try #require(stat(machine.path(name), &before) == 0)
        let file = try #require(fopen(machine.path(name), "r+"))
        fputs(text, file)
        fclose(file)
        var after = stat()
        try #require(stat(machine.path(name), &after) == 0)
        #expect(after.st_size == before.st_size)
        let times = [before.st_atim, before.st_mtim]
        #expect(utimensat(AT_FDCWD, machine.path(name), times, 0) == 0)
    }

    @Test func `an edit that keeps size and time of modification travels, and so does an attachment's`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Box.md", "- [ ] one\n")
            try laptop.write("Box.files/vault.txt", "0000\n")
            #expect(await desk.has("Box.md", "- [ ] one\n"))
            #expect(await desk.has("Box.files/vault.txt", "0000\n"))
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            try editKeepingTime(laptop, "Box.md", "- [x] one\n")
            try editKeepingTime(laptop, "Box.files/vault.txt", "abcd\n")
            #expect(await desk.has("Box.md", "- [x] one\n"))
            #expect(await desk.has("Box.files/vault.txt", "abcd\n"))
        }
    }

    @Test func `such an edit that no daemon saw is found by the next start`() async throws {
        let (store, objects) = (MemoryDocumentStore(Machine.database), MemoryObjectStore())
        let first = try await Machine(store, objects: objects)
        let home = first.home
        try first.write("Box.md", "- [ ] one\n")
        try first.write("Box.files/vault.txt", "0000\n")
        #expect(await first.eventually { await first.hasUnited(1) })
        #expect(await first.eventually { await first.sync.attachments.all.count == 1 })
        await first.stop()
        try editKeepingTime(first, "Box.md", "- [x] one\n")
        try editKeepingTime(first, "Box.files/vault.txt", "abcd\n")
        let next = try await Machine(store, objects: objects, home: home)
        let desk = try await Machine(store, objects: objects)
        #expect(await desk.has("Box.md", "- [x] one\n"))
        #expect(await desk.has("Box.files/vault.txt", "abcd\n"))
        await next.stop()
        await desk.stop()
    }

    @Test func `two saves of one size within a second of a coarse clock both travel`() async throws {
        let disk = MemoryDisk()
        disk.setClockStopped(true)
        let store = MemoryDocumentStore(Machine.database)
        let (laptop, desk) = (try await Machine(store, disk: disk), try await Machine(store))
        try disk.write("Box.md", Array("- [ ] one\n".utf8))
        #expect(await desk.has("Box.md", "- [ ] one\n"))
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        try disk.save("Box.md", Array("- [x] one\n".utf8))
        #expect(await desk.has("Box.md", "- [x] one\n"))
        await laptop.stop()
        await desk.stop()
    }

    @Test func `stamps of the last tick before the end of a run prove nothing`() {
        func stamp(_ seconds: Int64, _ nanoseconds: Int32) -> FileStamp {
            let time = FileTime(seconds: seconds, nanoseconds: nanoseconds)
            return FileStamp(device: 1, inode: 2, size: 3, modified: time, changed: time)
        }
        let fine = RacyStamps(newest: FileTime(seconds: 100, nanoseconds: 10_000_000))
        #expect(fine.contains(stamp(100, 10_000_000)))
        #expect(fine.contains(stamp(99, 990_000_000)))
        #expect(!fine.contains(stamp(99, 989_999_999)))
        let coarse = RacyStamps(newest: FileTime(seconds: 100, nanoseconds: 0))
        #expect(coarse.contains(stamp(98, 0)))
        #expect(!coarse.contains(stamp(97, 0)))
        #expect(!RacyStamps(newest: nil).contains(stamp(100, 0)))
        #expect(RacyStamps(newest: FileTime(seconds: .min, nanoseconds: 0)).contains(stamp(.max, 0)))
    }
}
