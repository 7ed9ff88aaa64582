package remote_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// recorded keeps the published events.
type recorded []string

func (r *recorded) Publish(events ...telemetry.Event) {
	for _, e := range events {
		*r = append(*r, e.Object.(client.Object).GetName()+" "+e.Reason+": "+e.Message)
	}
}

// A provider that reports more than a fifth of its instances as failed has its reports withheld, and sends them again. Notices
// about what the cloud does with an instance are passed on. An annotation of the node class lifts the bound.
func TestManyFailedInstancesAreWithheld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind := schema.GroupVersionKind{Group: "script.example.com", Version: "v1", Kind: "ScriptNodeClass"}
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(kind, meta.RESTScopeRoot)
		class := &unstructured.Unstructured{}
		class.SetGroupVersionKind(kind)
		class.SetName("default")
		objects := []client.Object{class}
		for n := range 20 {
			c := claim(fmt.Sprint(n))
			c.Status.ProviderID, c.Status.NodeName = fmt.Sprint("script://zone/i-", n), fmt.Sprint("node-", n)
			objects = append(objects, c)
		}
		kube := fake.NewClientBuilder().WithScheme(api.Scheme()).WithRESTMapper(mapper).WithObjects(objects...).Build()
		info, err := (&scripted{}).GetInfo(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		info.Capabilities = append(info.Capabilities, cloudv1.Capability_CAPABILITY_NOTICES)
		batches, failed := make(chan []*cloudv1.Notice), make(chan []uint32)
		l := &line{}
		l.start(&scripted{info: info, notices: func(stream grpc.BidiStreamingServer[cloudv1.WatchNoticesRequest, cloudv1.WatchNoticesResponse]) error {
			if _, err := stream.Recv(); err != nil {
				return err
			}
			for batch := range batches {
				if err := stream.Send(&cloudv1.WatchNoticesResponse{Batch: "b", Notices: batch}); err != nil {
					return err
				}
				m, err := stream.Recv()
				if err != nil {
					return err
				}
				failed <- m.GetFailed()
			}
			return nil
		}})
		defer l.kill()
		told := &recorded{}
		c := config(l)
		c.Client, c.Reader, c.Events = kube, kube, told
		p, err := remote.Connect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		defer close(batches)

		// deliver sends a batch and returns the notices that are passed on, and those that the provider has to send again.
		deliver := func(batch ...*cloudv1.Notice) (passed []string, again []uint32) {
			t.Helper()
			go func() { batches <- batch }()
			got, err := p.NoticeSources()[0].Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range got.Notices {
				passed = append(passed, n.Instance+n.Node)
			}
			sent := make(chan error, 1)
			go func() { sent <- got.Acknowledge(t.Context(), []cloud.Notice(nil)) }()
			again = <-failed
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			return passed, again
		}
		failure := func(n int) *cloudv1.Notice {
			return &cloudv1.Notice{Kind: cloudv1.NoticeKind_NOTICE_KIND_INSTANCE_FAILED, Instance: fmt.Sprint("i-", n)}
		}
		foreign := failure(99)
		four := []*cloudv1.Notice{failure(0), failure(1), failure(2), {Kind: cloudv1.NoticeKind_NOTICE_KIND_HOST_FAILED, NodeName: "node-3"}, foreign}
		if passed, again := deliver(four...); len(passed) != 5 || len(again) != 0 {
			t.Errorf("four of 20: passed %v, again %v, want all passed", passed, again)
		}
		five := append(slices.Clone(four), failure(4), &cloudv1.Notice{Kind: cloudv1.NoticeKind_NOTICE_KIND_SPOT_INTERRUPTED, Instance: "script://zone/i-5"})
		passed, again := deliver(five...)
		if strings.Join(passed, " ") != "i-99 script://zone/i-5" || !slices.Equal(again, []uint32{0, 1, 2, 3, 5}) {
			t.Errorf("five of 20: passed %v, again %v, want the interruption passed and the failures again", passed, again)
		}
		if len(*told) != 1 || !strings.HasPrefix((*told)[0], "default TerminationWithheld: 5 of 20 instances were not terminated") {
			t.Errorf("events are %q", *told)
		}
		class.SetAnnotations(map[string]string{apiv1.AllowMassTerminationAnnotationKey: "true"})
		if err := kube.Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if passed, again := deliver(five...); len(passed) != 7 || len(again) != 0 {
			t.Errorf("with the annotation: passed %v, again %v, want all passed", passed, again)
		}
	})
}
