import ObjectStorage
import Testing

@Suite struct ManifestTests {
    private let manifest = Manifest(
        sha256: ContentHash(of: [1, 2, 3]),
        chunks: [
            ChunkReference(id: ContentHash(of: [1]), length: 5000, storedLength: 700),
            ChunkReference(id: ContentHash(of: [2]), length: 1, storedLength: 17),
        ])

    private func code(_ bytes: [UInt8]) -> ObjectStorageError.Code? {
        do {
            _ = try Manifest(parsing: bytes)
            return nil
        } catch {
            return error.code
        }
    }

    private func code(_ text: String) -> ObjectStorageError.Code? { code(Array(text.utf8)) }

    @Test func `its bytes are pinned, and so is its id`() {
        let empty = Manifest(sha256: ContentHash(of: []), chunks: [])
        #expect(
            String(decoding: empty.bytes, as: UTF8.self)
                == #"{"version":1,"size":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","chunks":[]}"#
        )
        #expect(empty.id == ContentHash(of: empty.bytes))
        #expect(
            String(decoding: manifest.bytes, as: UTF8.self).hasSuffix(
                #"[["4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a",5000,700],["dbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986",1,17]]}"#
            ))
    }

    @Test func `an encoded manifest parses to the same value`() throws {
        #expect(try Manifest(parsing: manifest.bytes) == manifest)
        #expect(manifest.size == 5001)
    }

    @Test func `a manifest that is cut anywhere is corrupt`() {
        let bytes = manifest.bytes
        for length in 0..<bytes.count { #expect(code(Array(bytes[..<length])) == .corrupt) }
    }

    @Test func `a manifest that contradicts itself or lies about lengths is corrupt`() {
        let hash = ContentHash(of: []).hex
        func with(_ size: String, _ chunks: String) -> String {
            #"{"version":1,"size":\#(size),"sha256":"\#(hash)","chunks":[\#(chunks)]}"#
        }
        #expect(code(with("5", #"["\#(hash)",5,21]"#)) == nil)
        #expect(code(with("6", #"["\#(hash)",5,21]"#)) == .corrupt)
        #expect(code(with("0", #"["\#(hash)",0,16]"#)) == .corrupt)
        #expect(code(with("-5", #"["\#(hash)",-5,21]"#)) == .corrupt)
        #expect(code(with("5", #"["\#(hash)",5,22]"#)) == .corrupt)
        #expect(code(with("5", #"["\#(hash)",5,15]"#)) == .corrupt)
        #expect(code(with("5", #"["\#(hash)",5]"#)) == .corrupt)
        #expect(code(with("5", #"["abc",5,21]"#)) == .corrupt)
        #expect(code(with("99999999999999", #"["\#(hash)",99999999999999,21]"#)) == .corrupt)
        #expect(code(with("1e400", "")) == .corrupt)
        #expect(code("[]") == .corrupt)
        #expect(code("{}") == .corrupt)
        #expect(code("<html>Sign in to the hotel's network</html>") == .corrupt)
    }

    @Test func `a newer version is refused by name`() {
        #expect(code(#"{"version":2}"#) == .invalid)
    }

    @Test func `objects of a user live under the user, spread over 256 prefixes`() throws {
        let namespace = try ObjectNamespace(user: "alice")
        let id = ContentHash(of: [])
        #expect(namespace.chunk(id).text == "alice/chunks/e3/\(id.hex)")
        #expect(namespace.manifest(id).text == "alice/manifests/e3/\(id.hex)")
        for user in ["", "a/b", "a\0", String(repeating: "x", count: 129)] {
            #expect(throws: ObjectStorageError.self) { try ObjectNamespace(user: user) }
        }
    }
}
