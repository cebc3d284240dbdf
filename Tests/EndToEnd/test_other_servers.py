"""Documents through another gRPC server: grpcio, which forwards every call to ferry-server and compresses responses."""
from concurrent import futures

import grpc
import pytest

from harness import agree, free_ports, until


class Relay(grpc.GenericRpcHandler):
    """Forwards calls unchanged, and records their methods and the user agent of each client."""

    def __init__(self, address, target):
        self.methods, self.agents = set(), set()
        self.channel = grpc.insecure_channel(target)
        self.server = grpc.server(futures.ThreadPoolExecutor(32), compression=grpc.Compression.Gzip)
        self.server.add_generic_rpc_handlers((self,))
        assert self.server.add_insecure_port(address)
        self.server.start()

    def service(self, details):
        metadata = [(key, value) for key, value in details.invocation_metadata if key != "user-agent"]
        self.methods.add(details.method.rsplit("/", 1)[1])
        self.agents |= {value for key, value in details.invocation_metadata if key == "user-agent"}

        def relay(requests, context):
            call = self.channel.stream_stream(details.method)(requests, metadata=metadata, timeout=context.time_remaining())
            context.add_callback(call.cancel)
            try:
                context.send_initial_metadata(call.initial_metadata())
                yield from call
            except grpc.RpcError as error:
                context.set_trailing_metadata(call.trailing_metadata())
                context.abort(error.code(), error.details())

        return grpc.stream_stream_rpc_method_handler(relay)

    def stop(self):
        self.server.stop(0).wait()
        self.channel.close()


@pytest.fixture
def relay(server, machines):
    """A relay that both machines use instead of ferry-server's documents port."""
    server.stop()
    address, server.documents = server.documents, f"127.0.0.1:{free_ports(1)[0]}"
    server.start()
    relay = Relay(address, server.documents)
    yield relay
    relay.stop()


def test_tasks_sync_through_another_grpc_server(server, machines, relay):
    laptop, desk = machines
    laptop.write("Through grpcio.md", "Body\n")
    laptop.write("Large.md", "a line of it\n" * 40_000)
    for number in range(100):
        laptop.write(f"Task {number}.md", f"The same words for each, which can be compressed, and a number: {number}\n")
    agree(laptop, desk)
    assert desk.read("Through grpcio.md").endswith("Body\n")
    desk.write("Through grpcio.md", desk.read("Through grpcio.md") + "And back\n")
    agree(laptop, desk)
    assert laptop.read("Through grpcio.md").endswith("And back\n")
    assert {"Commit", "Listen"} <= relay.methods
    assert all(agent.startswith("grpc-ferry/") for agent in relay.agents) and relay.agents
    # The server behind the relay stops, and starts again.
    server.stop()
    until(lambda: laptop.status()["state"] == "offline", laptop.status)
    server.start()
    laptop.write("After that.md", "")
    agree(laptop, desk)
    assert desk.files() == laptop.files()
