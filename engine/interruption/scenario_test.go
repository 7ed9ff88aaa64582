package interruption

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// now is when the notices of every scenario arrive.
var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A claim is a claim of a scenario and its node.
type claim struct {
	Name     string            `json:"name"`
	ID       string            `json:"id"`       // provider ID
	Node     string            `json:"node"`     // name of its node, empty for none
	Taints   []corev1.Taint    `json:"taints"`   // of the node
	Deadline string            `json:"deadline"` // the annotation
	Deleted  bool              `json:"deleted"`
	Labels   map[string]string `json:"labels"`
}

// A notice is a notice of a scenario.
type notice struct {
	Kind     model.NoticeKind `json:"kind"`
	Instance string           `json:"instance"`
	Node     string           `json:"node"`
	Message  string           `json:"message"`
	Act      bool             `json:"act"`
	Age      metav1.Duration  `json:"age"`
}

// TestScenarios decides on the notices of each file under testdata/scenario. To add a behaviour, add a file; to accept a
// change, run with -update and read the diff.
func TestScenarios(t *testing.T) {
	scenario.Files(t, "testdata/scenario", func(t *testing.T, ar *txtar.Archive) string {
		if len(ar.Files) != 3 {
			t.Fatal("a scenario has the sections notices.yaml, claims.yaml and want")
		}
		s := load(t, scenario.Section(t, ar, "notices.yaml").Data, scenario.Section(t, ar, "claims.yaml").Data)
		out := text(Decide(s))
		for _, n := range Early(s) {
			out += fmt.Sprintf("handle again: %s of %s\n", n.Kind, n.Instance)
		}
		return out
	})
}

func text(actions []Action) string {
	var b strings.Builder
	for _, a := range actions {
		b.WriteString(a.String())
	}
	if len(actions) == 0 {
		return "nothing to do\n"
	}
	return b.String()
}

func load(t *testing.T, noticeData, claimData []byte) State {
	t.Helper()
	s := State{Now: now}
	var list []notice
	if err := yaml.UnmarshalStrict(noticeData, &list); err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		s.Notices = append(s.Notices, model.Notice{Kind: n.Kind, Instance: n.Instance, Node: n.Node, Message: n.Message, Act: n.Act, Time: now.Add(-n.Age.Duration)})
	}
	var claims []claim
	if err := yaml.UnmarshalStrict(claimData, &claims); err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		o := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: c.Labels}}
		o.Status.ProviderID, o.Status.NodeName = c.ID, c.Node
		if c.Deadline != "" {
			o.Annotations = map[string]string{apiv1.NodeClaimTerminationTimestampAnnotationKey: c.Deadline}
		}
		if c.Deleted {
			o.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Minute)}
		}
		s.Claims = append(s.Claims, o)
		if c.Node != "" {
			s.Nodes = append(s.Nodes, &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: c.Node}, Spec: corev1.NodeSpec{ProviderID: c.ID, Taints: c.Taints},
			})
		}
	}
	return s
}
