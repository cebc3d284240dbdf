import ObjectStorage

extension ObjectStoreContract {
    static let content = [
        ObjectStoreContract("an object of any bytes and length is returned as it was put") { store, keys in
            for length in [0, 1, 255, 65_536, 300_001] {
                let content = bytes(length)
                let key = try keys("content/\(length)")
                try await store.put(key, content)
                try require(try await store.read(key, limit: length) == content, "\(length) bytes came back otherwise")
                try requireEqual(try await store.head(key)?.size, Int64(length), "the size of \(key)")
            }
        },
        ObjectStoreContract("a put replaces the object and its version") { store, keys in
            let key = try keys("replaced")
            try await store.put(key, Array("first".utf8))
            let first = try await store.head(key)
            try await store.put(key, Array("second".utf8))
            let second = try await store.head(key)
            try require(try await store.read(key, limit: 100) == Array("second".utf8), "the old content is still there")
            try require(first?.version != second?.version, "both versions are called \(first?.version ?? "nil")")
            try require(first?.version != nil, "there is no version")
        },
        ObjectStoreContract("a range is cut to the object") { store, keys in
            let key = try keys("range")
            let content = bytes(1000)
            try await store.put(key, content)
            for (range, expected) in [
                (0..<1, 0..<1), (10..<500, 10..<500), (999..<1000, 999..<1000), (990..<5000, 990..<1000),
            ] {
                let part = try await store.get(key, range: Int64(range.lowerBound)..<Int64(range.upperBound))
                try requireEqual(part.length, Int64(expected.count), "the length of \(range)")
                try requireEqual(part.info.size, 1000, "the size beside a range")
                try require(
                    try await part.collect(limit: 1000) == Array(content[expected]), "\(range) came back otherwise")
            }
            try await requireFailure(.invalid, "a range behind the end") {
                _ = try await store.get(key, range: 1000..<1001)
            }
        },
        ObjectStoreContract("a large object comes in parts that make the whole") { store, keys in
            let key = try keys("parts")
            let content = bytes(1_300_000)
            try await store.put(key, content)
            var whole: [UInt8] = []
            for try await part in try await store.get(key) {
                try require(!part.isEmpty, "a part is empty")
                whole += part
            }
            try require(whole == content, "the parts make something else")
        },
        ObjectStoreContract("more than the limit is refused before it is read") { store, keys in
            let key = try keys("limited")
            try await store.put(key, bytes(100))
            try await requireFailure(.invalid, "reading past the limit") { _ = try await store.read(key, limit: 99) }
        },
        ObjectStoreContract("an object that was never put is not found") { store, keys in
            try requireEqual(try await store.head(try keys("absent")), nil, "the head of nothing")
            try await requireFailure(.notFound, "getting nothing") { _ = try await store.get(try keys("absent")) }
            try await store.put(try keys("parent/child"), [1])
            try requireEqual(try await store.head(try keys("parent")), nil, "the head of a parent")
            try await requireFailure(.notFound, "getting a parent") { _ = try await store.get(try keys("parent")) }
            try await requireFailure(.notFound, "getting beneath an object") {
                _ = try await store.get(try keys("parent/child/grandchild"))
            }
        },
        ObjectStoreContract("a second delete is not an error") { store, keys in
            let key = try keys("deleted")
            try await store.put(key, [1, 2, 3])
            try await store.delete(key)
            try requireEqual(try await store.head(key), nil, "the head of a deleted object")
            try await store.delete(key)
            try await store.put(key, [4])
            try require(try await store.read(key, limit: 1) == [4], "a key cannot be used again after a delete")
        },
        ObjectStoreContract("a cancelled task puts nothing") { store, keys in
            let key = try keys("cancelled")
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.put(key, [1])
            }
            do {
                try await task.value
                throw Violation(description: "the put went on")
            } catch is CancellationError {}
            try requireEqual(try await store.head(key), nil, "the head of what was cancelled")
        },
        ObjectStoreContract("concurrent puts of one key leave one of them whole") { store, keys in
            let key = try keys("contended")
            let versions = (0..<8).map { index in [UInt8](repeating: UInt8(index), count: 100_000 + index) }
            try await withThrowingTaskGroup { group in
                for version in versions { group.addTask { try await store.put(key, version) } }
                try await group.waitForAll()
            }
            let survivor = try await store.read(key, limit: 200_000)
            try require(versions.contains(survivor), "the survivor of \(survivor.count) bytes is a mixture")
        },
    ]

    /// Returns bytes without a pattern that a store could repeat by mistake.
    private static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, initialized in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var state = UInt64(count) | 1
            for offset in stride(from: 0, to: count, by: 8) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                raw.storeBytes(of: state, toByteOffset: offset, as: UInt64.self)
            }
            initialized = count
        }
    }
}
