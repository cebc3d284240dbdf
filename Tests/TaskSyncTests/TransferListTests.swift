import ObjectStorage
import TaskModel
import Testing

@testable import TaskSync

@Suite struct TransferListTests {
    private func transfer(_ number: Int, size: Int64, isUpload: Bool = true) -> Transfer {
        Transfer(
            id: "id\(number)", task: TaskID("task\(number % 3)"),
            attachment: isUpload ? nil : AttachmentID("a\(number)"), name: "n\(number)",
            isUpload: isUpload, size: size)
    }

    /// What may start now, all started.
    private func startAll(_ list: inout TransferList) -> [Transfer] {
        var started: [Transfer] = []
        while let next = list.next() {
            list.change(next.id) { $0.phase = .running }
            started.append(next)
        }
        return started
    }

    @Test func `small ones run many at a time, large ones a few`() {
        var list = TransferList()
        for number in 0..<100 { list.add(transfer(number, size: 1000)) }
        #expect(startAll(&list).count == TransferList.policy.smallSimultaneous)
        var large = TransferList()
        for number in 0..<100 { large.add(transfer(number, size: 1 << 30)) }
        #expect(startAll(&large).map(\.id) == (0..<TransferList.policy.simultaneous).map { "id\($0)" })
    }

    @Test(arguments: [
        [1 << 62, 1 << 62, 1 << 62, 1 << 62], [Int64.max], [Int64.max, .max, .max], [.min, -1, -1, -1],
        Array(repeating: Int64.min, count: 5), Array(repeating: -1, count: 64), Array(repeating: 1 << 57, count: 70),
    ]) func `sizes of any kind are counted, and all of them get their turn`(sizes: [Int64]) {
        var list = TransferList()
        for (number, size) in sizes.enumerated() { list.add(transfer(number, size: size, isUpload: false)) }
        var seen: [String] = []
        while case let started = startAll(&list), !started.isEmpty {
            #expect(started.count <= TransferList.policy.smallSimultaneous)
            for transfer in started { list.change(transfer.id) { $0.phase = .done } }
            seen += started.map(\.id)
        }
        #expect(Set(seen).count == sizes.count && seen.count == sizes.count)
        #expect(list.isAtRest)
    }

    @Test func `what is stored makes room before it is over`() {
        var list = TransferList()
        for number in 0..<10 { list.add(transfer(number, size: 1 << 30)) }
        #expect(startAll(&list).count == TransferList.policy.simultaneous)
        list.change("id0") { $0.isStored = true }
        #expect(startAll(&list).map(\.id) == ["id\(TransferList.policy.simultaneous)"])
        #expect(list.current(.init(upload: "n0", of: "task0"))?.id == "id0")
        list.change("id0") { $0.phase = .done }
        #expect(startAll(&list).isEmpty)
        #expect(list.current(.init(upload: "n0", of: "task0")) == nil)
    }

    @Test func `names that differ only in their Unicode form are two`() {
        var list = TransferList()
        list.add(Transfer(id: "a", task: "t", attachment: nil, name: "\u{e9}", isUpload: true, size: 1))
        #expect(list.current(.init(upload: "e\u{301}", of: "t")) == nil)
        #expect(list.current(.init(upload: "\u{e9}", of: "t"))?.id == "a")
    }

    @Test(arguments: 0..<50)
    func `the smallest that waits is always next, and nothing is lost or forgotten early`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var list = TransferList()
        var waiting: [String: (size: Int64, number: Int)] = [:]
        var running: Set<String> = []
        for number in 0..<200 {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0, 1, 2:
                let size = Int64.random(in: 0...20, using: &generator) << 18
                list.add(transfer(number, size: size, isUpload: Bool.random(using: &generator)))
                waiting["id\(number)"] = (size, number)
            case 3:
                guard let id = running.sorted().randomElement(using: &generator) else { continue }
                list.change(id) { $0.phase = Bool.random(using: &generator) ? .done : .failed("because") }
                running.remove(id)
            case 4:
                guard let id = waiting.keys.sorted().randomElement(using: &generator) else { continue }
                list.change(id) { $0.phase = .paused }
                waiting[id] = nil
            default:
                guard let id = list.all.filter({ $0.phase == .paused }).randomElement(using: &generator)?.id else {
                    continue
                }
                list.change(id) { $0.phase = .queued }
                waiting[id] = list[id].map { ($0.size, Int($0.id.dropFirst(2)) ?? 0) }
            }
            for started in startAll(&list) {
                let least = waiting.min { ($0.value.size, $0.value.number) < ($1.value.size, $1.value.number) }
                #expect(least?.key == started.id, "seed \(seed)")
                waiting[started.id] = nil
                running.insert(started.id)
            }
            let all = list.all
            #expect(Set(all.filter { $0.phase == .running }.map(\.id)) == running, "seed \(seed)")
            #expect(Set(all.filter { $0.phase == .queued }.map(\.id)) == Set(waiting.keys), "seed \(seed)")
            #expect(
                running.count <= TransferList.policy.smallSimultaneous
                    && (waiting.isEmpty || running.count >= TransferList.policy.simultaneous))
        }
    }

    @Test func `what is over is kept until it is known, then only the last of it and what failed`() {
        var list = TransferList()
        for number in 0..<2000 {
            list.add(transfer(number, size: 1))
            list.change("id\(number)") { $0.phase = number == 7 ? .failed("so") : .done }
        }
        #expect(list.all.count == 2000)
        list.forgetOver()
        #expect(list.all.count == TransferList.overLimit + 1)
        #expect(list["id1999"] != nil && list["id7"] != nil && list["id0"] == nil)
    }

    @Test func `where nobody wants to know, what is over has a limit`() {
        var list = TransferList()
        for number in 0...TransferList.untoldLimit {
            list.add(transfer(number, size: 1))
            list.change("id\(number)") { $0.phase = .failed("so") }
        }
        #expect(list.all.count < TransferList.untoldLimit)
    }
}
