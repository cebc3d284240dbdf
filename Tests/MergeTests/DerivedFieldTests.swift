import DocumentModel
import Testing

@testable import Merge

@Suite("Derived dates")
struct DerivedFieldTests {
    private func task(due: Int64, instances: [String: String], recurs: Bool = true) -> [String: Value] {
        var fields: [String: Value] = [
            "title": .string("a"), "due": .timestamp(Timestamp(microseconds: due * 86_400_000_000)),
            "dueHasTime": .boolean(false),
            "instances": .map(
                instances.mapValues { .map(["state": .string("done"), "day": .string($0)]) }),
        ]
        if recurs { fields["fields"] = .map(["recurrence": .string("FREQ=DAILY")]) }
        return fields
    }

    @Test("One occurrence that both sides completed is one completion, that of the first commit")
    func oneCompletion() {
        let result = DocumentMerge.merge(
            base: task(due: 1, instances: [:]), mine: task(due: 4, instances: ["1970-01-02": "1970-01-04"]),
            theirs: task(due: 3, instances: ["1970-01-02": "1970-01-03"]), policy: .tasks)
        #expect(
            result.fields?["instances"]
                == .map(["1970-01-02": .map(["state": .string("done"), "day": .string("1970-01-03")])]))
    }

    @Test("Of two dates of a recurring task the later one stays, without a conflict", arguments: [true, false])
    func laterDate(isMineLater: Bool) {
        let sides = [
            task(due: 5, instances: ["1970-01-02": "1970-01-02", "1970-01-04": "1970-01-04"]),
            task(due: 3, instances: ["1970-01-02": "1970-01-02"]),
        ]
        let (mine, theirs) = isMineLater ? (sides[0], sides[1]) : (sides[1], sides[0])
        let result = DocumentMerge.merge(
            base: task(due: 1, instances: [:]), mine: mine, theirs: theirs, policy: .tasks)
        #expect(result.fields?["due"] == sides[0]["due"])
        #expect(result.fields?["instances"] == sides[0]["instances"])
        #expect(result.displaced.map(\.field.description) == ["due"])
        #expect(result.displaced.allSatisfy { $0.reason == .replaced })
    }

    @Test("Of two dates of another task the later commit stays, as a conflict")
    func laterCommit() {
        let result = DocumentMerge.merge(
            base: task(due: 1, instances: [:], recurs: false), mine: task(due: 3, instances: [:], recurs: false),
            theirs: task(due: 5, instances: [:], recurs: false), policy: .tasks)
        #expect(result.fields?["due"] == .timestamp(Timestamp(microseconds: 3 * 86_400_000_000)))
        #expect(result.displaced.map(\.reason) == [.changedOnBothSides])
    }
}
