/// First in, first out; both in constant time on average.
///
/// Inlinable, as the queues are, so that the server and the client get code for their own types: without it each
/// step of a call looks generic types up.
package struct Queue<Element> {
    @inlinable package init() {}

    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    /// The number of elements whose memory an empty queue keeps.
    @inlinable static var keptCapacity: Int { 4 }

    @inlinable package var isEmpty: Bool { head == elements.count }

    @inlinable package mutating func append(_ element: Element) { elements.append(element) }

    @inlinable package mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        defer {
            elements[head] = nil
            head += 1
            if head == elements.count {
                // A call that was busy once may then wait for hours.
                elements.removeAll(keepingCapacity: elements.capacity <= Self.keptCapacity)
                head = 0
            } else if head > 64 && head > elements.count / 2 {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }
}
