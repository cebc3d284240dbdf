import CLinux

/// What this process keeps of the machine's memory, and how it gives it back.
package enum ProcessMemory {
    /// Limits the allocator to `count` arenas, M_ARENA_MAX of mallopt(3): threads that mostly wait need no pages of their
    /// own. Call it before threads start.
    package static func limitArenas(to count: Int32) { ferry_limit_arenas(count) }

    /// Allocations of at least so many bytes get pages of their own, M_MMAP_THRESHOLD of mallopt(3), which go back when they are
    /// freed. Without this glibc puts buffers of a few MiB onto the heap once it has seen one freed, and what is between them
    /// keeps their pages.
    package static func mapAllocations(from bytes: Int32) { ferry_map_allocations(bytes) }

    /// Each arena keeps up to so many free bytes at its end, M_TRIM_THRESHOLD of mallopt(3), until `giveBack`: with the 128 KiB of
    /// glibc's the pages of a buffer go back with it and come again, one fault each, with the next one.
    package static func keepFree(upTo bytes: Int32) { ferry_keep_free(bytes) }

    /// Gives back free pages of the heap, malloc_trim(3), and the pages of code, which come back from the page cache when
    /// they are used: most of what runs at the start and while thousands of files are taken in does not run again soon.
    package static func giveBack() {
        ferry_trim_heap()
        guard let maps = try? FileSystem.read("/proc/self/maps", limit: 4 << 20) else { return }
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            if let range = codeRange(line) { ferry_drop_pages(range.lowerBound, range.upperBound) }
        }
    }

    /// Gives back free pages of the heap, malloc_trim(3).
    package static func trim() { ferry_trim_heap() }

    /// Bytes of the heap that are in use, mallinfo2(3); allocations that have pages of their own are not counted.
    package static var heapInUse: Int { Int(clamping: ferry_heap_in_use()) }

    /// Of a line of proc_pid_maps(5): the addresses, if these are a file's pages that are run and never written, so that
    /// dropping them loses nothing.
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
