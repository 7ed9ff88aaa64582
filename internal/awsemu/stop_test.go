package awsemu

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
)

// inState returns the ids of the instances in the states.
func (l *lab) inState(names ...string) []string {
	l.t.Helper()
	return l.list(filter("instance-state-name", names...))
}

// Describe calls and the queue show that an instance stops. Its node is not ready then, and ready when it is started. The filters
// by state select it by its state only. A stopped instance can be terminated.
func TestStopAndStart(t *testing.T) {
	l := newLab(t)
	client := fake.NewClientset()
	machines := l.Machines(machine.Config{Client: client})
	pass := func() {
		for range 15 {
			machines.Step(t.Context())
			l.clock.Step(time.Second)
		}
	}
	l.template("good", nodeadmUserData("10.100.0.0/16"))
	at := choice{typ: "m7i.large", zone: "us-east-1b"}
	id, cheap := l.launch(l.fleet("good", onDemand, 1, at))[0], l.launch(l.fleet("good", spot, 1, at))[0]
	pass()
	_, err := l.ec2.StopInstances(bg(), &ec2.StopInstancesInput{InstanceIds: []string{id, cheap}})
	wantCode(t, err, "UnsupportedOperation")
	stopped := must[[]string](t)(l.control().Stop(bg(), "*"))
	if !slices.Equal(stopped, []string{id}) || !slices.Equal(l.inState("stopping"), stopped) || len(l.inState("stopped", "pending")) != 0 {
		t.Errorf("%v is stopped, %v stopping, and EC2 stops no spot instance", stopped, l.inState("stopping"))
	}
	pass()
	node := func() *corev1.Node {
		t.Helper()
		return must[*corev1.Node](t)(client.CoreV1().Nodes().Get(t.Context(), "ip-10-0-16-4.ec2.internal", metav1.GetOptions{}))
	}
	if ready := node().Status.Conditions; !slices.ContainsFunc(ready, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionFalse
	}) {
		t.Errorf("the conditions of the stopped node are %+v", ready)
	}
	if got := l.inState("stopped"); !slices.Equal(got, []string{id}) || !slices.Equal(l.inState("running"), []string{cheap}) {
		t.Errorf("stopped are %v, running %v", got, l.inState("running"))
	}
	status := must[*ec2.DescribeInstanceStatusOutput](t)(l.ec2.DescribeInstanceStatus(bg(), &ec2.DescribeInstanceStatusInput{
		IncludeAllInstances: aws.Bool(true), Filters: []ec2types.Filter{filter("instance-state-name", "stopped")},
	})).InstanceStatuses
	if len(status) != 1 || *status[0].InstanceId != id || status[0].InstanceStatus.Status != "not-applicable" {
		t.Errorf("statuses are %+v", status)
	}
	var bodies []string
	for _, m := range l.receive() {
		bodies = append(bodies, *m.Body)
	}
	for _, state := range []string{"stopping", "stopped"} {
		if !slices.ContainsFunc(bodies, func(b string) bool { return strings.Contains(b, id) && strings.Contains(b, `"state":"`+state+`"`) }) {
			t.Errorf("no message says %s: %v", state, bodies)
		}
	}
	for pattern, do := range map[string]func() ([]string, error){
		"i-none": func() ([]string, error) { return l.control().Stop(bg(), "i-none") },
		cheap:    func() ([]string, error) { return l.control().Stop(bg(), cheap) },
		"ip-9*":  func() ([]string, error) { return l.control().Start(bg(), "ip-9*") },
	} {
		if ids, err := do(); err == nil || !strings.Contains(err.Error(), pattern) {
			t.Errorf("%s: %v, %v", pattern, ids, err)
		}
	}
	before := node().Status.NodeInfo.BootID
	if ids, err := l.control().Start(bg(), "ip-10-0-16-4.*"); err != nil || !slices.Equal(ids, []string{id}) || l.state(id) != "pending" {
		t.Errorf("started %v, %v", ids, err)
	}
	pass()
	if l.state(id) != "running" || node().Status.NodeInfo.BootID == before {
		t.Errorf("the started instance is %s and its kubelet has not started again", l.state(id))
	}
	must[*ec2.StopInstancesOutput](t)(l.ec2.StopInstances(bg(), &ec2.StopInstancesInput{InstanceIds: []string{id}}))
	pass()
	must[*ec2.TerminateInstancesOutput](t)(l.ec2.TerminateInstances(bg(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}))
	pass()
	_, err = l.ec2.StartInstances(bg(), &ec2.StartInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "IncorrectInstanceState")
	if l.state(id) != "terminated" || len(*must[*nodeList](t)(listNodes(t.Context(), client))) != 1 {
		t.Error("the stopped instance or its node is left")
	}
}

// A stopped instance uses no place in its reservation.
func TestStoppedInstanceLeavesItsReservation(t *testing.T) {
	l := newLab(t)
	id := must[string](t)(l.Reserve(control.Reservation{Type: "m5.large", Zone: "us-east-1a", Count: 1}))
	l.template("plain", "")
	l.launch(l.fleet("plain", onDemand, 1, choice{typ: "m5.large", zone: "us-east-1a"}))
	l.clock.Step(time.Minute)
	if n := *l.reservation(id).AvailableInstanceCount; n != 0 {
		t.Fatalf("%d left with an instance that runs", n)
	}
	must[[]string](t)(l.Stop("*"))
	l.clock.Step(time.Minute)
	if n := *l.reservation(id).AvailableInstanceCount; n != 1 {
		t.Errorf("%d left with a stopped instance", n)
	}
}

// While tags are late, describe calls return a new instance without tags, and no filter by a tag matches it.
func TestTagsAreLate(t *testing.T) {
	l := newLab(t)
	if err := l.control().SetLag(bg(), control.Lag{Tags: control.Duration(20 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	l.template("plain", "")
	id := l.launch(l.fleet("plain", onDemand, 1, choice{typ: "m5.large", zone: "us-east-1a"}))[0]
	tags := func() int {
		t.Helper()
		out := must[*ec2.DescribeInstancesOutput](t)(l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}}))
		listed := must[*ec2.DescribeTagsOutput](t)(l.ec2.DescribeTags(bg(), &ec2.DescribeTagsInput{Filters: []ec2types.Filter{filter("resource-id", id)}}))
		return len(out.Reservations[0].Instances[0].Tags) + len(listed.Tags)
	}
	found := func() []string { return l.list(filter("tag:karpenter.sh/nodepool", "default")) }
	l.clock.Step(19 * time.Second)
	if n := tags(); n != 0 || len(found()) != 0 || !slices.Equal(l.list(), []string{id}) {
		t.Errorf("after 19 s the instance has %d tags, and %v are found by them", n, found())
	}
	l.clock.Step(time.Second)
	if n := tags(); n == 0 || !slices.Equal(found(), []string{id}) {
		t.Errorf("after 20 s the instance has %d tags, and %v are found by them", n, found())
	}
}
