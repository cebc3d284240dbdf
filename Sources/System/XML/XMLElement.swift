/// An element of an XML document: a name, and text or child elements.
///
/// `init(parsing:limits:)` reads a document into a tree of elements, and `document(namespace:)`
/// writes one. Elements that were read have names without namespace prefixes and no attributes;
/// comments and processing instructions are skipped.
package struct XMLElement: Hashable, Sendable {
    /// The name, without a prefix if it was read.
    package let name: String
    /// The attributes to write, by name; empty in an element that was read.
    package let attributes: [String: String]
    /// The text directly in the element, with entities and CDATA sections resolved. Text on both
    /// sides of a child is joined.
    package internal(set) var text: String
    /// The child elements in their order.
    package internal(set) var children: [XMLElement]

    package init(_ name: String, _ text: String) {
        self.init(name: name, attributes: [:], text: text, children: [])
    }

    package init(_ name: String, _ children: [XMLElement], attributes: [String: String] = [:]) {
        self.init(name: name, attributes: attributes, text: "", children: children)
    }

    init(name: String, attributes: [String: String] = [:], text: String = "", children: [XMLElement] = []) {
        self.name = name
        self.attributes = attributes
        self.text = text
        self.children = children
    }

    /// The text of the first child of that name; nil if there is none.
    package subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    /// Returns the children of that name in their order.
    package func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    /// Returns the first element of that name in document order, this element included; nil if
    /// there is none.
    package func first(_ name: String) -> XMLElement? {
        if self.name == name { return self }
        for child in children {
            if let found = child.first(name) { return found }
        }
        return nil
    }
}
