/// A map from watch numbers to directories. Moving a directory moves its subtree at no cost.
struct WatchTree {
    private struct Node {
        var parent: Int32?
        var name: ExactText
        var children: [ExactText: Int32] = [:]
        /// The names of links, pipes, sockets and devices, any of which may be in the place of a directory.
        var obstacles: Set<ExactText> = []
    }

    private var nodes: [Int32: Node] = [:]
    private(set) var root: Int32?

    /// The root; forgets all others, whose watches the caller has given up.
    mutating func start(root: Int32) {
        nodes = [root: Node(parent: nil, name: ExactText(""))]
        self.root = root
    }

    /// Adds a directory below another one. If the number is known, the directory is moved there. If
    /// another number had the same place, it is forgotten.
    mutating func insert(_ watch: Int32, name: String, in parent: Int32) {
        let name = ExactText(name)
        guard nodes[parent] != nil, watch != root else { return }
        if let old = nodes[parent]?.children[name], old != watch { remove(old) }
        if nodes[watch] != nil {
            // A directory cannot be moved into itself, but events may arrive late.
            guard !isBeneath(parent, watch) else { return }
            detach(watch)
            nodes[watch]?.parent = parent
            nodes[watch]?.name = name
        } else {
            nodes[watch] = Node(parent: parent, name: name)
        }
        nodes[parent]?.children[name] = watch
    }

    func path(of watch: Int32) -> TaskPath? {
        var names: [String] = []
        var current = watch
        while let node = nodes[current] {
            guard let parent = node.parent else {
                return TaskPath(unchecked: names.reversed().joined(separator: "/"))
            }
            names.append(node.name.string)
            current = parent
        }
        return nil
    }

    func child(_ name: String, of parent: Int32) -> Int32? {
        nodes[parent]?.children[ExactText(name)]
    }

    mutating func set(obstacles: [String], in watch: Int32) {
        nodes[watch]?.obstacles = Set(obstacles.map { ExactText($0) })
    }

    /// Forgets an obstacle. Returns false if there was none of that name.
    mutating func removeObstacle(_ name: String, in watch: Int32) -> Bool {
        nodes[watch]?.obstacles.remove(ExactText(name)) != nil
    }

    func watch(at path: TaskPath) -> Int32? {
        var current = root
        for component in path.components {
            guard let parent = current else { return nil }
            current = child(String(component), of: parent)
        }
        return current
    }

    /// Forgets a directory and everything below it, and returns their numbers.
    @discardableResult
    mutating func remove(_ watch: Int32) -> [Int32] {
        guard nodes[watch] != nil else { return [] }
        detach(watch)
        var removed: [Int32] = []
        var left = [watch]
        while let next = left.popLast() {
            if let node = nodes.removeValue(forKey: next) { left.append(contentsOf: node.children.values) }
            removed.append(next)
        }
        if watch == root { root = nil }
        return removed
    }

    private mutating func detach(_ watch: Int32) {
        guard let node = nodes[watch], let parent = node.parent else { return }
        if nodes[parent]?.children[node.name] == watch { nodes[parent]?.children[node.name] = nil }
    }

    private func isBeneath(_ watch: Int32, _ ancestor: Int32) -> Bool {
        var current: Int32? = watch
        while let here = current {
            if here == ancestor { return true }
            current = nodes[here]?.parent
        }
        return false
    }
}
