/// The keys of front matter with a defined meaning, in the order in which they are added.
enum TaskKey: String, CaseIterable {
    case priority
    case due
    case tags
    case completed
    case completeInstances = "complete_instances"
    case skippedInstances = "skipped_instances"
    case title
}
