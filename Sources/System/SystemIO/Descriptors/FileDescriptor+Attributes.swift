import CLinux
import Glibc

// Extended attributes, xattr(7). Names start with their namespace, here mostly `user.`.
extension FileDescriptor {
    /// Returns the value of an extended attribute; nil if the file has no such attribute or the
    /// file system supports none.
    package func attribute(_ name: String) throws(SystemError) -> [UInt8]? {
        var size = fgetxattr(rawValue, name, nil, 0)
        while size >= 0 {
            var value = [UInt8](repeating: 0, count: size)
            let count = fgetxattr(rawValue, name, &value, size)
            if count >= 0 {
                value.removeLast(size - min(count, size))
                return value
            }
            // The attribute grew between the two calls.
            guard errno == ERANGE else { break }
            size = fgetxattr(rawValue, name, nil, 0)
        }
        if errno == ENODATA || errno == EOPNOTSUPP { return nil }
        throw .last("read the attribute \(name) of", path)
    }

    /// Sets an extended attribute. Returns false if the file system supports none or has no space
    /// for it.
    package func setAttribute(_ name: String, to value: [UInt8]) throws(SystemError) -> Bool {
        if fsetxattr(rawValue, name, value, value.count, 0) == 0 { return true }
        switch errno {
        case EOPNOTSUPP, ENOSPC, EDQUOT, E2BIG, ERANGE: return false
        default: throw .last("set the attribute \(name) of", path)
        }
    }

    /// Removes an extended attribute. Returns false if the file has no such attribute.
    package func removeAttribute(_ name: String) throws(SystemError) -> Bool {
        if fremovexattr(rawValue, name) == 0 { return true }
        if errno == ENODATA || errno == EOPNOTSUPP { return false }
        throw .last("remove the attribute \(name) of", path)
    }

    /// Returns the names of all attributes that this process may see; an empty array if the file
    /// system supports none.
    package func attributeNames() throws(SystemError) -> [String] {
        let size = flistxattr(rawValue, nil, 0)
        if size == 0 || (size < 0 && errno == EOPNOTSUPP) { return [] }
        guard size > 0 else { throw .last("list the attributes of", path) }
        // Extra capacity for attributes that appear between the two calls.
        var names = [UInt8](repeating: 0, count: size + 256)
        let count = names.withUnsafeMutableBytes { buffer in
            flistxattr(rawValue, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        guard count >= 0 else { throw .last("list the attributes of", path) }
        return names[..<count].split(separator: 0).compactMap { String(validating: $0, as: UTF8.self) }
    }
}
