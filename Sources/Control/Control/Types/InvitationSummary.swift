package import JSON

/// An invitation to a list that has not been answered.
///
/// The texts come from the other account: whoever shows them escapes them.
package struct InvitationSummary: JSONCodable, Hashable {
    /// Eight hexadecimal digits.
    package var id: String
    package var list: String
    /// The address of the list's owner.
    package var from: String
    /// The address of the invited account.
    package var to: String
    /// Whether this account sent it.
    package var isSent: Bool
    /// RFC 3339; nil until the server has ordered it.
    package var time: String?

    package init(id: String, list: String, from: String, to: String, isSent: Bool, time: String?) {
        self.id = id
        self.list = list
        self.from = from
        self.to = to
        self.isSent = isSent
        self.time = time
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            id: try json.string("id"), list: try json.string("list"), from: try json.string("from"),
            to: try json.string("to"), isSent: json.flag("sent"), time: json["time"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("list", list.asJSON), ("from", from.asJSON), ("to", to.asJSON),
            ("sent", isSent.ifTrue), ("time", time?.asJSON))
    }
}

/// An account whose invitations are refused.
package struct BlockSummary: JSONCodable, Hashable {
    package var userID: String
    /// The e-mail address under which it was blocked, or its id.
    package var name: String

    package init(userID: String, name: String) {
        self.userID = userID
        self.name = name
    }

    package init(json: JSON) throws(ControlError) {
        self.init(userID: try json.string("userId"), name: try json.string("name"))
    }

    package var json: JSON { .members(("userId", userID.asJSON), ("name", name.asJSON)) }
}
