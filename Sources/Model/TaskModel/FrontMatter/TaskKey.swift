/// The keys of front matter that Ferry understands, in the order in which it adds them.
enum TaskKey: String, CaseIterable {
    case priority
    case due
    case tags
    case completed
    case title
}
