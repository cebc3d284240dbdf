/// The address of one of the core's objects.
///
/// Sendable because it is an address and no more; the core's functions on channels, servers and calls may be used from
/// any thread, and who owns the object says how long it lives.
struct CorePointer: Hashable, @unchecked Sendable {
    let pointer: OpaquePointer
}
