package awsemu

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
)

// nodeadmUserData returns user data with which a machine joins the cluster of newLab. cidr is the service CIDR in it.
func nodeadmUserData(cidr string) string {
	return `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpoint: https://127.0.0.1:6443
    certificateAuthority: cGVt
    cidr: ` + cidr + `
  kubelet:
    config:
      maxPods: 29
    flags:
    - --node-labels="karpenter.sh/nodepool=default"
--//--
`
}

// A fleet launches an instance, which boots, registers a Node, is initialized by the cloud controller, and is terminated.
func TestFleetToNode(t *testing.T) {
	l := newLab(t)
	client := fake.NewClientset()
	machines := l.Machines(machine.Config{Client: client})
	l.template("good", nodeadmUserData("10.100.0.0/16"))
	l.template("bad", nodeadmUserData("10.96.0.0/12"))
	at := choice{typ: "m7i.large", zone: "us-east-1b"}
	good := l.launch(l.fleet("good", spot, 1, at))[0]
	bad := l.launch(l.fleet("bad", spot, 1, at))[0]

	for range 10 { // ten seconds in steps of one second
		machines.Step(t.Context())
		l.clock.Step(time.Second)
	}
	nodes := must[*nodeList](t)(listNodes(t.Context(), client))
	if len(*nodes) != 1 {
		t.Fatalf("nodes are %v, want one", *nodes)
	}
	name := "ip-10-0-16-4.ec2.internal"
	if (*nodes)[name] != "aws:///us-east-1b/"+good {
		t.Errorf("nodes are %v, want %s for %s", *nodes, name, good)
	}
	for _, i := range l.Instances() {
		if i.ID == bad && (len(i.Console) != 1 || i.State != "running") {
			t.Errorf("the machine with a wrong CIDR is %s with console %q, want running and the reason", i.State, i.Console)
		}
		if i.ID == good && (i.Node != name || i.PricePerHour <= 0 || i.Capacity != "spot") {
			t.Errorf("the good machine is %+v", i)
		}
	}

	must[*ec2.TerminateInstancesOutput](t)(l.ec2.TerminateInstances(bg(), &ec2.TerminateInstancesInput{InstanceIds: []string{good}}))
	for range 4 {
		machines.Step(t.Context())
		l.clock.Step(time.Second)
	}
	if nodes := must[*nodeList](t)(listNodes(t.Context(), client)); len(*nodes) != 0 {
		t.Errorf("nodes are %v after the termination, want none", *nodes)
	}
}

// nodeList has provider ids by node name.
type nodeList map[string]string

func listNodes(ctx context.Context, client *fake.Clientset) (*nodeList, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := nodeList{}
	for _, n := range list.Items {
		out[n.Name] = n.Spec.ProviderID
	}
	return &out, nil
}

// Run listens, serves requests, and returns when its context is cancelled.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, ProcessOptions{Addr: "127.0.0.1:0", ClusterName: "demo", Ready: func(addr string) { ready <- addr }})
	}()
	client := control.Client{BaseURL: "http://" + <-ready, HTTP: &http.Client{}}
	list, err := client.Instances(ctx)
	if err != nil || len(list) != 0 {
		t.Errorf("instances are %v (%v), want none", list, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}
