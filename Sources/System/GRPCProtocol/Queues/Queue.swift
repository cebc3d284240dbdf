/// First in, first out; both in constant time on average.
package struct Queue<Element> {
    package init() {}

    private var elements: [Element?] = []
    private var head = 0

    package var isEmpty: Bool { head == elements.count }

    package mutating func append(_ element: Element) { elements.append(element) }

    package mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        defer {
            elements[head] = nil
            head += 1
            if head == elements.count {
                elements.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 64 && head > elements.count / 2 {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }
}
