package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// born is the creation time of the claim in every scenario.
var born = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A question is the section ask.yaml: the function to call for the claim, the time of the call, and the state of the claim at
// that time. Times are ages of the claim, such as 5m.
type question struct {
	Ask     string                     `json:"ask"` // next (default), consolidatable, drift, expiry, podevent, shortfall
	At      metav1.Duration            `json:"at"`
	True    map[string]metav1.Duration `json:"true"` // conditions that are True, with the age at which they became True
	Deleted *metav1.Duration           `json:"deleted"`
	Hook    struct {
		Wait   metav1.Duration   `json:"wait"`
		Labels map[string]string `json:"labels"`
		Err    string            `json:"err"`
	} `json:"hook"`
	InstanceGone bool `json:"instanceGone"`
	DRA          bool `json:"dra"`
	// LaunchTimeout is that of the provider, 0 for the usual one.
	LaunchTimeout metav1.Duration  `json:"launchTimeout"`
	PodEvent      *metav1.Duration `json:"podEvent"`
	Types         []instanceType   `json:"types"`
}

type instanceType struct {
	Name      string              `json:"name"`
	Offerings []map[string]string `json:"offerings"` // the labels of each offering
}

// TestScenarios runs each scenario file under testdata/scenario. To add a behaviour, add a file; to accept a change,
// run with -update and read the diff.
func TestScenarios(t *testing.T) {
	scenario.Files(t, "testdata/scenario", func(t *testing.T, ar *txtar.Archive) string {
		if len(strings.TrimSpace(string(ar.Comment))) == 0 {
			t.Error("a scenario begins with what it shows, in a user's words")
		}
		return answer(t, ar)
	})
}

func answer(t *testing.T, ar *txtar.Archive) string {
	t.Helper()
	var (
		q     question
		pool  apiv1.NodePool
		nodes []*corev1.Node
		pods  []*corev1.Pod
	)
	read(t, ar, "ask.yaml", &q)
	read(t, ar, "pool.yaml", &pool)
	read(t, ar, "nodes.yaml", &nodes)
	read(t, ar, "pods.yaml", &pods)
	claim, now := theClaim(t, ar, q), born.Add(q.At.Duration)

	switch q.Ask {
	case "", "next":
		v := View{Now: now, Claim: claim, Nodes: nodes, DRA: q.DRA, LaunchTimeout: q.LaunchTimeout.Duration,
			Hook: Hook{Wait: q.Hook.Wait.Duration, Labels: q.Hook.Labels, Err: q.Hook.Err}}
		read(t, ar, "slices.yaml", &v.Slices)
		v.Pods = pods
		v.InstanceGone = q.InstanceGone
		return Next(v).String()
	case "consolidatable":
		yes, wait := Consolidatable(claim, &pool, now)
		return fmt.Sprintf("%t, wait %s\n", yes, wait)
	case "drift":
		return fmt.Sprintf("%q\n", Drift(claim, &pool, typesOf(q.Types), apiv1.CoreLabels().Aliases, now))
	case "expiry":
		at, ok := model.ExpiresAt(claim)
		return fmt.Sprintf("%t at %s\n", ok, at.Format(time.RFC3339))
	case "podevent":
		last := LastPodEvent(pods, now)
		if last.IsZero() {
			return "never\n"
		}
		return fmt.Sprintf("at age %s\n", last.Sub(born))
	case "shortfall":
		return strings.Join(Shortfall(claim, nodes[0]), "\n") + "\n"
	}
	t.Fatalf("unknown question %q", q.Ask)
	return ""
}

// theClaim returns the claim of section claim.yaml, with the fields that every claim has and with the state that the question
// gives.
func theClaim(t *testing.T, ar *txtar.Archive, q question) *apiv1.NodeClaim {
	t.Helper()
	claim := &apiv1.NodeClaim{}
	claim.Name, claim.UID = "default-a", "uid-a"
	claim.CreationTimestamp = metav1.NewTime(born)
	claim.Finalizers = []string{apiv1.TerminationFinalizer}
	read(t, ar, "claim.yaml", claim)
	if q.Deleted != nil {
		claim.DeletionTimestamp = &metav1.Time{Time: born.Add(q.Deleted.Duration)}
	}
	if q.PodEvent != nil {
		claim.Status.LastPodEventTime = metav1.NewTime(born.Add(q.PodEvent.Duration))
	}
	condition.Initialize(claim, born)
	for c, age := range q.True {
		condition.SetTrue(claim, c, born.Add(age.Duration))
	}
	return claim
}

func typesOf(list []instanceType) []*model.InstanceType {
	var types []*model.InstanceType
	for _, t := range list {
		it := &model.InstanceType{Name: t.Name}
		for _, labels := range t.Offerings {
			it.Offerings = append(it.Offerings, model.Offering{
				Zone:         labels[corev1.LabelTopologyZone],
				CapacityType: labels[apiv1.CapacityTypeLabelKey],
				Requirements: require.FromLabels(labels),
			})
		}
		types = append(types, it)
	}
	return types
}

// read decodes the section into v. It does not change v if there is no such section.
func read(t *testing.T, ar *txtar.Archive, name string, v any) {
	t.Helper()
	s := section(ar, name)
	if s == nil {
		return
	}
	if err := yaml.UnmarshalStrict(s.Data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func section(ar *txtar.Archive, name string) *txtar.File {
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			return &ar.Files[i]
		}
	}
	return nil
}
