import DocumentModel

/// Names travel as strings; a bad one is an invalid message, with the words of its `NameError`.
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
    /// nil for the empty string, where a stream's later requests leave the database out.
    init?(optionalMessage text: String) throws(ProtocolError) {
        guard !text.isEmpty else { return nil }
        try self.init(message: text)
    }
}
