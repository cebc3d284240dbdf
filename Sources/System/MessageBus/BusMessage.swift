import CSystemd
import Glibc

/// A message that a connection has received.
package struct BusMessage: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// The answer to the call with this number.
        case reply(to: UInt64)
        /// The failure of the call with this number, with the name of the error.
        case failure(of: UInt64, name: String)
        /// A signal, with its interface and name.
        case signal(interface: String, name: String)
        /// A call of a method of this process, which has none.
        case call
    }

    package let kind: Kind
    /// The unique name of the sender; empty if it has none.
    package let sender: String
    package let body: [BusValue]

    /// The maximum number of values of a message. Further ones are omitted.
    private static let valueLimit = 4096
    private static let depthLimit = 16

    /// Reads a message; nil for one that cannot be read.
    init?(_ message: OpaquePointer) {
        var type: UInt8 = 0
        guard sd_bus_message_get_type(message, &type) >= 0 else { return nil }
        var cookie: UInt64 = 0
        switch Int(type) {
        case 2:
            guard sd_bus_message_get_reply_cookie(message, &cookie) >= 0 else { return nil }
            kind = .reply(to: cookie)
        case 3:
            guard sd_bus_message_get_reply_cookie(message, &cookie) >= 0 else { return nil }
            let name = sd_bus_message_get_error(message).flatMap { $0.pointee.name.map { String(cString: $0) } }
            kind = .failure(of: cookie, name: name ?? "")
        case 4:
            kind = .signal(
                interface: Self.text(sd_bus_message_get_interface(message)),
                name: Self.text(sd_bus_message_get_member(message)))
        default: kind = .call
        }
        sender = Self.text(sd_bus_message_get_sender(message))
        var left = Self.valueLimit
        body = Self.values(in: message, depth: 0, left: &left)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    /// Reads the values up to the end of a container. Values of other types are omitted.
    private static func values(in message: OpaquePointer, depth: Int, left: inout Int) -> [BusValue] {
        var values: [BusValue] = []
        while left > 0 {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            guard sd_bus_message_peek_type(message, &type, &contents) > 0 else { break }
            left -= 1
            let code = Character(Unicode.Scalar(UInt8(bitPattern: type)))
            if "ar(v{e".contains(code) {
                guard depth < depthLimit, let contents, sd_bus_message_enter_container(message, type, contents) > 0
                else { break }
                let signature = String(cString: contents)
                let inner = self.values(in: message, depth: depth + 1, left: &left)
                guard left > 0, sd_bus_message_exit_container(message) >= 0 else { break }
                switch code {
                case "a": values.append(.array(inner, of: signature))
                case "v": if let value = inner.first { values.append(.variant(value)) }
                case "e", "{":
                    if inner.count == 2 { values.append(.entry(key: inner[0], inner[1])) }
                default: values.append(.structure(inner))
                }
            } else if let value = basic(code, in: message) {
                values.append(value)
            } else if sd_bus_message_skip(message, String(code)) < 0 {
                break
            }
        }
        return values
    }

    private static func basic(_ code: Character, in message: OpaquePointer) -> BusValue? {
        func read<Number: BitwiseCopyable>(_ initial: Number, _ make: (Number) -> BusValue) -> BusValue? {
            var number = initial
            let type = CChar(bitPattern: code.asciiValue ?? 0)
            return sd_bus_message_read_basic(message, type, &number) > 0 ? make(number) : nil
        }
        switch code {
        case "y": return read(UInt8(0), BusValue.byte)
        case "b": return read(Int32(0)) { .boolean($0 != 0) }
        case "i": return read(Int32(0), BusValue.int32)
        case "u": return read(UInt32(0), BusValue.uint32)
        case "x": return read(Int64(0), BusValue.int64)
        case "t": return read(UInt64(0), BusValue.uint64)
        case "d": return read(0.0, BusValue.double)
        case "s": return read(UnsafePointer<CChar>?.none) { .string(text($0)) }
        case "o": return read(UnsafePointer<CChar>?.none) { .objectPath(text($0)) }
        default: return nil
        }
    }
}

extension BusValue {
    /// Appends the value to a message. Returns a negative errno value for a failure.
    func append(to message: OpaquePointer) -> Int32 {
        func basic<Number: BitwiseCopyable>(_ number: Number) -> Int32 {
            var number = number
            return sd_bus_message_append_basic(message, CChar(bitPattern: signature.utf8.first ?? 0), &number)
        }
        func container(_ type: Unicode.Scalar, _ contents: String, _ values: [BusValue]) -> Int32 {
            let type = CChar(bitPattern: UInt8(ascii: type))
            var result = sd_bus_message_open_container(message, type, contents)
            for value in values where result >= 0 { result = value.append(to: message) }
            return result < 0 ? result : sd_bus_message_close_container(message)
        }
        switch self {
        case .byte(let number): return basic(number)
        case .boolean(let value): return basic(Int32(value ? 1 : 0))
        case .int32(let number): return basic(number)
        case .uint32(let number): return basic(number)
        case .int64(let number): return basic(number)
        case .uint64(let number): return basic(number)
        case .double(let number): return basic(number)
        case .string(let text), .objectPath(let text):
            return sd_bus_message_append_basic(message, CChar(bitPattern: signature.utf8.first ?? 0), text)
        case .array(let elements, let element): return container("a", element, elements)
        case .structure(let members): return container("r", members.map(\.signature).joined(), members)
        case .entry(let key, let value): return container("e", key.signature + value.signature, [key, value])
        case .variant(let value): return container("v", value.signature, [value])
        }
    }
}
