import Control
import ObjectStorage
import TaskModel
import TaskSync

extension TransferSummary {
    init(_ transfer: Transfer) {
        let snapshot = transfer.snapshot
        let (state, reason): (State, String?) =
            switch transfer.phase {
            case .queued: (.queued, nil)
            case .running: (.running, nil)
            case .paused: (.paused, nil)
            case .waiting(let why): (transfer.needsHelp ? .failed : .waiting, why)
            case .done: (.done, nil)
            case .failed(let why): (.failed, why)
            case .cancelled: (.cancelled, nil)
            }
        let total = snapshot?.bytesTotal ?? transfer.size
        self.init(
            id: transfer.id, direction: transfer.isUpload ? .upload : .download, state: state,
            taskID: transfer.task.rawValue,
            name: transfer.name, bytesDone: state == .done ? total : transfer.bytesDone, bytesTotal: total,
            bytesDeduplicated: snapshot?.bytesDeduplicated ?? 0, bytesOnWire: snapshot?.bytesOnWire ?? 0,
            rate: state == .running ? snapshot?.rate : nil, reason: reason)
    }
}
