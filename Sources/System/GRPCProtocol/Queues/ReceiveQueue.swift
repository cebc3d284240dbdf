/// The answer to a reader.
package enum Received: Sendable, Equatable {
    case message([UInt8])
    /// The peer has no more messages, or the call has failed.
    case end
    /// Another task is waiting for a message of this call.
    case busy
}

/// The messages that have arrived and were not read, and the reader that waits for the next one.
///
/// A pure state machine: the caller resumes the readers, and keeps the peer from sending more while there is no room.
package struct ReceiveQueue<Reader> {
    @inlinable package init() {}

    /// Bytes that may be held ahead of the reader.
    @inlinable package static var limit: Int { 64 << 10 }

    /// The size of a message that counts toward the limit, which includes its fixed cost.
    @inlinable static func size(_ message: [UInt8]) -> Int { 256 + message.count }

    @usableFromInline var messages = Queue<[UInt8]>()
    @usableFromInline var size = 0
    @usableFromInline var isEnded = false
    @usableFromInline var reader: Reader?

    /// Whether more may be received ahead of the reader.
    @inlinable package var hasRoom: Bool { size < Self.limit }

    /// Returns the answer that is known without waiting; nil if the reader must `wait`.
    @inlinable package mutating func ask() -> Received? {
        if reader != nil { return .busy }
        if let message = messages.popFirst() {
            size -= Self.size(message)
            return .message(message)
        }
        return isEnded ? .end : nil
    }

    /// Adds the reader that `ask` had no answer for. Returns the answer if it has come meanwhile.
    @inlinable package mutating func wait(_ reader: Reader) -> Received? {
        if self.reader != nil { return .busy }
        if let message = messages.popFirst() {
            size -= Self.size(message)
            return .message(message)
        }
        if isEnded { return .end }
        self.reader = reader
        return nil
    }

    /// Drops the messages that were not read.
    @inlinable package mutating func removeAll() {
        messages = Queue()
        size = 0
    }

    /// Records a message that has arrived, or nil after the last one. Returns the reader to resume with the answer.
    @inlinable package mutating func received(_ message: [UInt8]?) -> (reader: Reader?, answer: Received) {
        let reader = reader
        self.reader = nil
        guard let message else {
            isEnded = true
            return (reader, .end)
        }
        if reader == nil {
            messages.append(message)
            size += Self.size(message)
        }
        return (reader, .message(message))
    }
}
