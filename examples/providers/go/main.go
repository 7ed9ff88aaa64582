// Command go is a provider that runs in a process of its own, in one file. Its cloud has machines that exist only
// in its memory. docs/providers.md explains it step by step. A real provider calls the API of its cloud instead of
// changing the map.
//
//	go run ./examples/providers/go -listen /tmp/toy.sock
//	karpenter provider check unix:///tmp/toy.sock
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
)

func main() {
	path := flag.String("listen", "/tmp/toy.sock", "path of the socket")
	flag.Parse()
	listener, err := net.Listen("unix", *path) // over a network, TLS is needed: grpc.Creds
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	cloudv1.RegisterProviderServiceServer(server, &toy{machines: map[string]*machine{}})
	log.Printf("listening at unix://%s", *path)
	log.Fatal(server.Serve(listener))
}

// The API group, version and kind of the node classes. Their CustomResourceDefinition is in crds.yaml.
const (
	group   = "toy.example.com"
	kind    = "ToyNodeClass"
	example = `{"apiVersion": "toy.example.com/v1", "kind": "ToyNodeClass", "metadata": {"name": "default"}, "spec": {"image": "debian-13"}}`
)

// images are those from which machines can be started.
var images = []string{"debian-13", "flatcar-4"}

// prefix is the prefix of provider IDs. The field spec.providerID of the nodes must have the same value as
// the provider ID.
const prefix = "toy://"

// A machine is one instance.
type machine struct {
	token, image string
	offering     *cloudv1.OfferingKey
	created      time.Time
}

// A toy is the cloud and its provider. For methods that it does not define, the embedded type returns an error. That is
// allowed, because GetInfo lists no capability that needs these methods.
type toy struct {
	cloudv1.UnimplementedProviderServiceServer

	mu       sync.Mutex
	machines map[string]*machine // by provider ID
}

// GetInfo returns the facts about the provider that never change.
func (t *toy) GetInfo(context.Context, *cloudv1.GetInfoRequest) (*cloudv1.GetInfoResponse, error) {
	return &cloudv1.GetInfoResponse{
		Name: "toy", Version: "1.0.0", ProviderIdPrefixes: []string{prefix},
		NodeClassKinds: []*cloudv1.NodeClassKind{{Group: group, Version: "v1", Kind: kind, ExampleJson: example}},
		Capabilities:   []cloudv1.Capability{cloudv1.Capability_CAPABILITY_DRIFT},
	}, nil
}

// types returns what can be launched: three sizes in two zones. Karpenter adds the labels for name, zone and capacity type.
func types() []*cloudv1.InstanceType {
	var out []*cloudv1.InstanceType
	for _, cpu := range []int{2, 8, 32} {
		t := &cloudv1.InstanceType{
			Name: fmt.Sprintf("toy-%d", cpu),
			Requirements: []*cloudv1.Requirement{
				{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}},
				{Key: "kubernetes.io/os", Operator: "In", Values: []string{"linux"}},
			},
			Capacity:    map[string]string{"cpu": fmt.Sprint(cpu), "memory": fmt.Sprintf("%dGi", 4*cpu), "pods": "110"},
			Allocatable: map[string]string{"cpu": fmt.Sprintf("%dm", 1000*cpu-100)}, // less the CPU of the kubelet
		}
		for _, zone := range []string{"left", "right"} {
			t.Offerings = append(t.Offerings, &cloudv1.Offering{
				Zone: zone, CapacityType: "on-demand", Price: 0.04 * float64(cpu), Available: true,
			})
		}
		out = append(out, t)
	}
	return out
}

// WatchCatalogue sends all types once. They never change, so nothing follows. A provider with prices that change sends
// messages with updates and commit, as long as the call is open.
func (t *toy) WatchCatalogue(request *cloudv1.WatchCatalogueRequest, stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
	all := &cloudv1.WatchCatalogueResponse{Reset_: true, InstanceTypes: types(), Commit: true}
	if _, why := imageOf(request.GetNodeClassJson()); why != nil {
		all = &cloudv1.WatchCatalogueResponse{Reset_: true, Failure: why, Commit: true}
	}
	if err := stream.Send(all); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// imageOf returns the image of a node class, or the reason why no machine can be launched from the class.
func imageOf(class string) (string, *cloudv1.Failure) {
	var read struct {
		Spec struct{ Image string }
	}
	err := json.Unmarshal([]byte(class), &read)
	if err == nil && !slices.Contains(images, read.Spec.Image) {
		err = fmt.Errorf("spec.image is %q, use one of %v", read.Spec.Image, images)
	}
	if err != nil {
		return "", &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_NODE_CLASS_NOT_READY, Message: err.Error()}
	}
	return read.Spec.Image, nil
}

// ValidateNodeClass returns whether machines can be launched from a class. Karpenter writes the result to the
// condition Ready.
func (t *toy) ValidateNodeClass(_ context.Context, request *cloudv1.ValidateNodeClassRequest) (*cloudv1.ValidateNodeClassResponse, error) {
	_, why := imageOf(request.GetNodeClassJson())
	return &cloudv1.ValidateNodeClassResponse{Failure: why}, nil
}

// CreateInstance launches a machine once for each token. On a real cloud the token is the idempotency token of the call, or
// the name of the machine, or a tag by which it is found again.
func (t *toy) CreateInstance(_ context.Context, request *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := prefix + request.GetToken()
	if t.machines[id] == nil {
		image, why := imageOf(request.GetNodeClassJson())
		if why == nil && len(request.GetCandidates()) == 0 {
			// With the offerings in the field exhausted, Karpenter does not plan with them for a while.
			why = &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_INSUFFICIENT_CAPACITY, Message: "nothing is large enough"}
		}
		if why != nil {
			return &cloudv1.CreateInstanceResponse{Failure: why}, nil
		}
		t.machines[id] = &machine{
			token: request.GetToken(), image: image, created: time.Now(),
			offering: request.GetCandidates()[0], // the cheapest one with capacity; here every offering has capacity
		}
	}
	return &cloudv1.CreateInstanceResponse{Instance: t.instance(id)}, nil
}

// instance describes a machine. Labels and resources follow from its instance type, so Karpenter knows them.
func (t *toy) instance(id string) *cloudv1.Instance {
	m := t.machines[id]
	return &cloudv1.Instance{
		ProviderId: id, Token: m.token, Offering: m.offering, ImageId: m.image, Created: timestamppb.New(m.created),
	}
}

// notFound is the failure for a machine that does not exist.
func notFound(id string) *cloudv1.Failure {
	return &cloudv1.Failure{Kind: cloudv1.FailureKind_FAILURE_KIND_NOT_FOUND, Message: id + " does not exist"}
}

// DeleteInstance ends a machine. It finds the machine by its token, because the provider ID is empty if the answer of
// CreateInstance was lost. Karpenter always sends the token.
func (t *toy) DeleteInstance(_ context.Context, request *cloudv1.DeleteInstanceRequest) (*cloudv1.DeleteInstanceResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := prefix + request.GetToken()
	if t.machines[id] == nil {
		return &cloudv1.DeleteInstanceResponse{Failure: notFound(id)}, nil
	}
	delete(t.machines, id)
	return &cloudv1.DeleteInstanceResponse{}, nil
}

// GetInstance returns the state of the machine in the cloud. A provider must not answer from a cache.
func (t *toy) GetInstance(_ context.Context, request *cloudv1.GetInstanceRequest) (*cloudv1.GetInstanceResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := request.GetProviderId()
	if t.machines[id] == nil {
		return &cloudv1.GetInstanceResponse{Failure: notFound(id)}, nil
	}
	return &cloudv1.GetInstanceResponse{Instance: t.instance(id)}, nil
}

// ListInstances returns all machines of the cluster. A provider with many machines returns them in pages.
func (t *toy) ListInstances(context.Context, *cloudv1.ListInstancesRequest) (*cloudv1.ListInstancesResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer := &cloudv1.ListInstancesResponse{}
	for _, id := range slices.Sorted(maps.Keys(t.machines)) {
		answer.Instances = append(answer.Instances, t.instance(id))
	}
	return answer, nil
}

// CheckDrift compares a machine with its class. If they differ, Karpenter writes the returned reason to the condition
// Drifted and replaces the node.
func (t *toy) CheckDrift(_ context.Context, request *cloudv1.CheckDriftRequest) (*cloudv1.CheckDriftResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.machines[request.GetProviderId()]
	if m == nil {
		return &cloudv1.CheckDriftResponse{Failure: notFound(request.GetProviderId())}, nil
	}
	image, why := imageOf(request.GetNodeClassJson())
	if why == nil && image != m.image {
		return &cloudv1.CheckDriftResponse{Reason: "ImageDrift"}, nil
	}
	return &cloudv1.CheckDriftResponse{Failure: why}, nil
}
