#!/usr/bin/env python3
"""A provider in another process, in Python: a cloud whose machines exist only in its memory.

It is the second part of the tutorial of docs/providers.md, and does the same as examples/providers/go. It needs
python3-grpcio and python3-protobuf (apt install python3-grpcio python3-protobuf), and a descriptor of the protocol,
which cloud/proto/karpenter/cloud/v1/provider.binpb is. protoc is not needed: the messages are made from the descriptor.

    python3 examples/providers/python/provider.py /tmp/toy-python.sock
    karpenter provider check unix:///tmp/toy-python.sock
"""

import json
import pathlib
import sys
import threading
import time
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf import duration_pb2, timestamp_pb2  # noqa: F401  the protocol imports them

PACKAGE = "karpenter.cloud.v1."
DESCRIPTOR = pathlib.Path(__file__).resolve().parents[3] / "cloud/proto/karpenter/cloud/v1/provider.binpb"

# The kind of node classes. Its CustomResourceDefinition is in crds.yaml.
GROUP, KIND = "python.toy.example.com", "PythonNodeClass"
EXAMPLE = {
    "apiVersion": GROUP + "/v1", "kind": KIND, "metadata": {"name": "default"}, "spec": {"image": "debian-13"},
}
IMAGES = ["debian-13", "flatcar-4"]
PREFIX = "toy-python://"  # nodes must have the same in spec.providerID


def load():
    """Returns the message classes of the protocol by name, and the descriptor of the service."""
    files = descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTOR.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for f in files.file:
        pool.Add(f)
    service = pool.FindServiceByName(PACKAGE + "ProviderService")
    messages = {}
    for name in service.file.message_types_by_name:
        found = service.file.message_types_by_name[name]
        if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22 and later
            messages[name] = message_factory.GetMessageClass(found)
        else:
            messages[name] = message_factory.MessageFactory(pool).GetPrototype(found)
    enums = {}
    for enum in service.file.enum_types_by_name.values():
        enums.update({v.name: v.number for v in enum.values})
    return messages, enums, service


MESSAGES, ENUMS, SERVICE = load()


def new(message_type, /, **fields):
    return MESSAGES[message_type](**fields)


def failure(kind, message):
    return new("Failure", kind=ENUMS["FAILURE_KIND_" + kind], message=message)


def image_of(text):
    """Returns the image of a node class, and why nothing can be launched from it."""
    try:
        image = json.loads(text)["spec"]["image"]
    except (ValueError, KeyError, TypeError) as error:
        return None, failure("NODE_CLASS_NOT_READY", f"spec.image cannot be read: {error!r}")
    if image not in IMAGES:
        return None, failure("NODE_CLASS_NOT_READY", f"spec.image is {image!r}, use one of {IMAGES}")
    return image, None


def types():
    """Returns what can be launched. Karpenter adds the labels for name, zone and capacity type."""
    for cpu in (2, 8, 32):
        yield new(
            "InstanceType",
            name=f"python-{cpu}",
            requirements=[
                new("Requirement", key="kubernetes.io/arch", operator="In", values=["amd64"]),
                new("Requirement", key="kubernetes.io/os", operator="In", values=["linux"]),
            ],
            capacity={"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"},
            allocatable={"cpu": f"{1000 * cpu - 100}m"},  # without what the kubelet reserves for itself
            offerings=[
                new("Offering", zone=zone, capacity_type="on-demand", price=0.04 * cpu, available=True)
                for zone in ("left", "right")
            ],
        )


class Toy:
    """The cloud. Methods that are not here answer that they are not implemented: GetInfo does not name them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.machines = {}  # by provider ID

    def GetInfo(self, request, context):
        """Says what never changes."""
        return new(
            "GetInfoResponse",
            name="toy-python",
            version="1.0.0",
            provider_id_prefixes=[PREFIX],
            capabilities=[ENUMS["CAPABILITY_DRIFT"]],
            node_class_kinds=[new("NodeClassKind", group=GROUP, version="v1", kind=KIND, example_json=json.dumps(EXAMPLE))],
            max_concurrent_calls=8,  # a thread of the server is busy with each call
        )

    def WatchCatalogue(self, request, context):
        """Sends all types once. They never change, so the call only stays open until the client ends it."""
        _, why = image_of(request.node_class_json)
        if why:
            yield new("WatchCatalogueResponse", reset=True, failure=why, commit=True)
        else:
            yield new("WatchCatalogueResponse", reset=True, instance_types=list(types()), commit=True)
        ended = threading.Event()
        if context.add_callback(ended.set):
            ended.wait()

    def ValidateNodeClass(self, request, context):
        """Says whether machines can be launched from a class. Karpenter writes it to the condition Ready."""
        return new("ValidateNodeClassResponse", failure=image_of(request.node_class_json)[1])

    def CreateInstance(self, request, context):
        """Launches a machine once for each token."""
        name = PREFIX + request.token
        with self.lock:
            if name not in self.machines:
                image, why = image_of(request.node_class_json)
                if not why and not request.candidates:
                    why = failure("INSUFFICIENT_CAPACITY", "nothing is large enough")
                if why:
                    return new("CreateInstanceResponse", failure=why)
                machine = new("Instance", provider_id=name, token=request.token, image_id=image)
                machine.offering.CopyFrom(request.candidates[0])  # the cheapest: this cloud never runs out
                machine.created.FromSeconds(int(time.time()))
                self.machines[name] = machine
            return new("CreateInstanceResponse", instance=self.machines[name])

    def DeleteInstance(self, request, context):
        """Ends a machine, also one whose launch was never answered: it is found by its token."""
        with self.lock:
            if self.machines.pop(PREFIX + request.token, None) is None:
                return new("DeleteInstanceResponse", failure=failure("NOT_FOUND", "it does not exist"))
        return new("DeleteInstanceResponse")

    def GetInstance(self, request, context):
        with self.lock:
            machine = self.machines.get(request.provider_id)
        if machine is None:
            return new("GetInstanceResponse", failure=failure("NOT_FOUND", "it does not exist"))
        return new("GetInstanceResponse", instance=machine)

    def ListInstances(self, request, context):
        with self.lock:
            return new("ListInstancesResponse", instances=list(self.machines.values()))

    def CheckDrift(self, request, context):
        """Compares a machine with its class. The reason becomes that of the condition Drifted."""
        with self.lock:
            machine = self.machines.get(request.provider_id)
        if machine is None:
            return new("CheckDriftResponse", failure=failure("NOT_FOUND", "it does not exist"))
        image, why = image_of(request.node_class_json)
        if why:
            return new("CheckDriftResponse", failure=why)
        return new("CheckDriftResponse", reason="" if image == machine.image_id else "ImageDrift")


def handlers(toy):
    """Returns the methods of the service that the toy has, as gRPC calls them."""
    out = {}
    for method in SERVICE.methods:
        call = getattr(toy, method.name, None)
        if call is None:
            continue
        make = grpc.unary_stream_rpc_method_handler if method.name == "WatchCatalogue" else grpc.unary_unary_rpc_method_handler
        out[method.name] = make(
            call,
            request_deserializer=MESSAGES[method.input_type.name].FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )
    return grpc.method_handlers_generic_handler(PACKAGE + "ProviderService", out)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "/tmp/toy-python.sock"
    # A stream of a catalogue is open for each node class, and has a thread.
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
    server.add_generic_rpc_handlers((handlers(Toy()),))
    server.add_insecure_port("unix:" + path)  # another host needs TLS: add_secure_port
    server.start()
    print("listening at unix://" + path, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
