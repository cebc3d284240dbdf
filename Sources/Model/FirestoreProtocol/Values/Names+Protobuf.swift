import DocumentModel

/// Names are encoded as strings. A bad name makes the message invalid, with the text of its
/// `NameError`.
extension DocumentName {
    init(message text: String) throws(ProtocolError) {
        do throws(NameError) {
            try self.init(parsing: text)
        } catch {
            throw ProtocolError(.invalid, error.message)
        }
    }
}

extension ParentName {
    init(message text: String) throws(ProtocolError) {
        do throws(NameError) {
            try self.init(parsing: text)
        } catch {
            throw ProtocolError(.invalid, error.message)
        }
    }
}

extension DatabaseName {
    init(message text: String) throws(ProtocolError) {
        do throws(NameError) {
            try self.init(parsing: text)
        } catch {
            throw ProtocolError(.invalid, error.message)
        }
    }
}

extension FieldPath {
    init(message text: String) throws(ProtocolError) {
        do throws(NameError) {
            try self.init(parsing: text)
        } catch {
            throw ProtocolError(.invalid, error.message)
        }
    }
}

extension DatabaseName {
    /// Parses the name of a database. Nil for the empty string, because later requests of a stream
    /// omit the database.
    init?(optionalMessage text: String) throws(ProtocolError) {
        guard !text.isEmpty else { return nil }
        try self.init(message: text)
    }
}
