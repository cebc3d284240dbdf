import SystemIO
import TaskFolder
import Testing

@testable import TaskSync

@Suite struct FileIndexTests {
    /// Numbers of files are given to new ones: the known one that had it before has gone, though nobody has been told yet.
    @Test(arguments: [[4, 5], [5, 4]])
    func `of two known files of one number the one that changed last is there`(order: [Int64]) throws {
        let index = FileIndex(
            try order.map { seconds in
                var stamp = FileStamp.none
                stamp.changed.seconds = seconds
                return (try TaskPath("\(seconds).md"), FileIndex.Entry(task: "\(seconds)", stamp: stamp))
            })
        #expect(index.path(withInodeOf: .none)?.string == "5.md")
    }
}
