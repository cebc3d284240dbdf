/// The refusal of a request, with the Identity Toolkit's name of the error. A text for people may
/// follow after ` : `.
struct ToolkitRefusal: Error {
    let name: String

    init(_ name: String) { self.name = name }
}
