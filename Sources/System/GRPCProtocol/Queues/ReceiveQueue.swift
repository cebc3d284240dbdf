/// What a reader is told.
package enum Received: Sendable, Equatable {
    case message([UInt8])
    /// The peer has no more messages, or the call has failed.
    case end
    /// Another task is waiting for a message of this call.
    case busy
}

/// The messages that have arrived and were not read, and when to ask the connection for the next. A
/// pure machine: the caller starts a receive whenever it is told to.
///
/// The first message is asked for by the reader. A reader that asks again is reading a stream, and from then on the
/// connection is asked ahead of it, up to a limit, so that it need not be woken for each message.
package struct ReceiveQueue<Reader> {
    @inlinable package init() {}

    /// Bytes that may be held ahead of the reader.
    @inlinable package static var limit: Int { 64 << 10 }

    /// What a message counts toward the limit; one without bytes costs something too.
    @inlinable static func size(_ message: [UInt8]) -> Int { 256 + message.count }

    @usableFromInline var messages = Queue<[UInt8]>()
    @usableFromInline var size = 0
    @usableFromInline var asked = 0
    @usableFromInline var isReceiving = false
    @usableFromInline var isEnded = false
    @usableFromInline var reader: Reader?

    /// Whether more may be received ahead of the reader.
    @inlinable package var hasRoom: Bool { size < Self.limit }

    /// What can be told without waiting; nil if the reader must `wait`.
    @inlinable package mutating func ask() -> (answer: Received?, startReceiving: Bool) {
        if reader != nil { return (.busy, false) }
        asked = min(asked + 1, 2)
        if let message = messages.popFirst() {
            size -= Self.size(message)
            return (.message(message), startReceiving())
        }
        return (isEnded ? .end : nil, startReceiving())
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

    /// A receive has ended with a message, or nil after the last one.
    @inlinable package mutating func received(_ message: [UInt8]?) -> (
        reader: Reader?, answer: Received, startReceiving: Bool
    ) {
        isReceiving = false
        let reader = reader
        self.reader = nil
        guard let message else {
            isEnded = true
            return (reader, .end, false)
        }
        if reader == nil {
            messages.append(message)
            size += Self.size(message)
        }
        return (reader, .message(message), asked > 1 && startReceiving())
    }

    @inlinable mutating func startReceiving() -> Bool {
        guard !isReceiving, !isEnded, hasRoom, asked > 1 || messages.isEmpty else { return false }
        isReceiving = true
        return true
    }
}
