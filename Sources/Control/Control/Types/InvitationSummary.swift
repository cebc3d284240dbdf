package import JSON

/// An invitation to a list that is not answered.
///
/// Its texts come from another account, so a program that displays them has to escape them.
package struct InvitationSummary: JSONCodable, Hashable {
    /// The id, eight hexadecimal digits.
    package var id: String
    package var list: String
    /// The e-mail address of the owner of the list.
    package var from: String
    /// The e-mail address of the invited account.
    package var to: String
    /// Whether this account has sent the invitation.
    package var isSent: Bool
    /// The time of the invitation in RFC 3339; nil until the server has ordered it.
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

/// An account whose invitations are declined automatically.
package struct BlockSummary: JSONCodable, Hashable {
    package var userID: String
    /// The e-mail address with which the account was blocked, or its id.
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
