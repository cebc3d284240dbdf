import CLinux
import Glibc

/// Unpredictable bytes from the kernel, suitable for keys and ids.
package enum SystemRandom {
    /// Returns `count` random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(buffer))
            initialized = count
        }
    }

    static func words(_ count: Int) -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(buffer))
            initialized = count
        }
    }

    private static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        if let start = buffer.baseAddress { arc4random_buf(start, buffer.count) }
    }

    /// Returns `count` random bytes in lowercase hexadecimal: twice as many characters.
    package static func hex(_ count: Int) -> String {
        hexadecimal(bytes(count))
    }
}

/// A pool of random words that is refilled from the system many words at a time. With one call per
/// word, that call would dominate the cost of creating an id.
struct RandomPool {
    private static let size = 64

    private var words: [UInt64] = []

    mutating func next() -> UInt64 {
        if let word = words.popLast() { return word }
        words = SystemRandom.words(Self.size)
        return words.removeLast()
    }
}

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}
