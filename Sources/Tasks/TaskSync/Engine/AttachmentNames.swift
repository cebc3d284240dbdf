import TaskFolder
package import TaskModel

/// Gives the files of a task's attachments the same names on all machines. Pure.
///
/// Two machines without a connection may each attach a file with the same name. Then the attachment
/// with the lowest id gets the name, and each of the others the name with a number, in the order of
/// their ids. A new version keeps its name.
enum AttachmentNames {
    /// Returns the number in each attachment's file name, by id; 1 stands for the name without a
    /// number.
    static func numbers(of names: [AttachmentID: String]) -> [AttachmentID: Int] {
        let plain = names.mapValues { ExactText(TaskSync.fileName($0, 1)) }
        var taken = Set(plain.values)
        var numbers: [AttachmentID: Int] = [:]
        for (_, ids) in Dictionary(grouping: plain.keys, by: { plain[$0] }) {
            for (place, id) in ids.sorted().enumerated() { numbers[id] = place == 0 ? 1 : 0 }
        }
        for id in names.keys.sorted() where numbers[id] == 0 {
            let free = (2...).first { taken.insert(ExactText(TaskSync.fileName(names[id] ?? "", $0))).inserted }
            numbers[id] = free
        }
        return numbers
    }

    /// Returns the names of attachments in commands, by id.
    static func shown(_ attachments: [AttachmentID: TaskAttachment]) -> [AttachmentID: String] {
        let names = attachments.mapValues(\.name)
        return numbers(of: names).reduce(into: names) { shown, number in
            if number.value > 1 { shown[number.key] = TaskSync.fileName(names[number.key] ?? "", number.value) }
        }
    }

    /// Returns a name similar to `name` that none of `others` has.
    static func free(_ name: String, beside others: Set<ExactText>) -> String {
        guard others.contains(ExactText(name)) else { return name }
        return (2...).lazy.map { TaskSync.fileName(name, $0) }.first { !others.contains(ExactText($0)) } ?? name
    }
}

extension TaskItem {
    /// The names of the attachments in commands, by id: with a number if several of the task have
    /// the same name.
    package var attachmentNames: [AttachmentID: String] { AttachmentNames.shown(attachments) }

    /// Returns the attachment with this id or name; nil if there is none.
    package func attachment(meantBy word: String) -> (id: AttachmentID, attachment: TaskAttachment)? {
        if attachments[AttachmentID(word)] == nil,
            let id = attachmentNames.first(where: { $0.value.utf8.elementsEqual(word.utf8) })?.key
        {
            return attachments[id].map { (id, $0) }
        }
        return attachment(called: word)
    }
}
