import GRPCProtocol
import SystemIO

/// The connection of a call, as the call needs it.
protocol CallTransport: AnyObject, Sendable {
    var loop: NetworkLoop { get }
    var settings: ServerSettings { get }
    /// Bytes of answers that the client has not read, of all calls of the connection.
    var unread: ByteCount { get }

    /// Takes over a batch of a call; asks the call for the next when it has gone. On the loop.
    func start(_ batch: Outgoing, on stream: Int32, of call: ServerCallCore)

    /// Lets the client send more, because the call's reader has made room. On the loop.
    func resumeReceiving(_ stream: Int32)

    /// A call's handler runs; `handlerEnded` follows. On any thread, as is that.
    func handlerStarted()
    func handlerEnded()
}
