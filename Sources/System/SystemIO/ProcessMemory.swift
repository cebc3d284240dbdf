import CLinux
import Glibc

/// Settings of the allocator, and the release of this process's memory to the kernel.
package enum ProcessMemory {
    /// Limits the allocator to `count` arenas: M_ARENA_MAX of mallopt(3). Threads that mostly wait
    /// then share the pages of an arena. Must be called before threads start.
    package static func limitArenas(to count: Int32) { ferry_limit_arenas(count) }

    /// Gives allocations of at least `bytes` bytes pages of their own, which are unmapped when they
    /// are freed: M_MMAP_THRESHOLD of mallopt(3).
    ///
    /// By default glibc raises this threshold once such a buffer is freed. Buffers of a few MiB
    /// then go on the heap, where small allocations between them keep their pages in use.
    package static func mapAllocations(from bytes: Int32) { ferry_map_allocations(bytes) }

    /// Lets each arena keep up to `bytes` free bytes at its end until `giveBack` is called:
    /// M_TRIM_THRESHOLD of mallopt(3).
    ///
    /// With glibc's default of 128 KiB the pages of a freed buffer are unmapped, and the next
    /// buffer causes a page fault for each of them.
    package static func keepFree(upTo bytes: Int32) { ferry_keep_free(bytes) }

    /// Returns free heap pages, malloc_trim(3), and pages of program code to the kernel.
    ///
    /// Code pages are read again from the page cache when they are used. Most code that runs at the
    /// start, and while thousands of files are imported, does not run again soon.
    package static func giveBack() {
        ferry_trim_heap()
        guard let maps = try? FileSystem.read("/proc/self/maps", limit: 4 << 20) else { return }
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            if let range = codeRange(line) { ferry_drop_pages(range.lowerBound, range.upperBound) }
        }
    }

    /// Returns free heap pages to the kernel: malloc_trim(3).
    package static func trim() { ferry_trim_heap() }

    /// The number of allocated bytes: mallinfo2(3).
    package static var inUse: Int { Int(clamping: ferry_memory_in_use()) }

    /// The number of bytes of this process's memory that are resident and belong to no file; nil if
    /// /proc is missing.
    package static var resident: Int? {
        guard let text = try? FileSystem.read("/proc/self/statm", limit: 200) else { return nil }
        let pages = String(decoding: text, as: UTF8.self).split(separator: " ").prefix(3).compactMap { Int($0) }
        guard pages.count == 3 else { return nil }
        return (pages[1] - pages[2]).saturatingMultiplied(by: sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Returns the address range of a line of proc_pid_maps(5) if it maps a file's pages that are
    /// executable and never written, so that dropping them loses nothing.
    static func codeRange(_ line: some StringProtocol) -> Range<UInt>? {
        let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
        guard fields.count == 6, fields[1] == "r-xp", fields[5].drop(while: { $0 == " " }).hasPrefix("/") else {
            return nil
        }
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        return ends[0]..<ends[1]
    }
}
