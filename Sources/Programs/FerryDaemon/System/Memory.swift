import Glibc

/// What glibc's allocator keeps back.
enum Memory {
    private typealias Option = @convention(c) (Int32, Int32) -> Int32
    private typealias Trim = @convention(c) (Int) -> Int32

    /// Few arenas: the threads here mostly wait, and each arena keeps pages of its own. Call it before threads start.
    static func keepArenasFew() {
        // M_ARENA_MAX of mallopt(3). Swift's Glibc module lacks malloc.h.
        guard let symbol = dlsym(nil, "mallopt") else { return }
        _ = unsafeBitCast(symbol, to: Option.self)(-8, 2)
    }

    /// Gives free pages back to the system, malloc_trim(3), as after the first sync of many tasks.
    static func trim() {
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: Trim.self)(0)
    }
}
