package drain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// TestScenarios runs every file of testdata/scenario. The input is the objects of a node, and the output is the decision at
// each of the given times. To add a behaviour, add a file; to accept a change, run with -update and read the diff.
func TestScenarios(t *testing.T) {
	scenario.Files(t, "testdata/scenario", run)
}

// run decides at every time of the section at and returns the decisions as text.
func run(t *testing.T, ar *txtar.Archive) string {
	t.Helper()
	state := load(t, scenario.Section(t, ar, "objects.yaml").Data)
	var out strings.Builder
	times := strings.Fields(string(scenario.Section(t, ar, "at").Data))
	for i, text := range times {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(times) > 1 {
			if i > 0 {
				out.WriteString("\n")
			}
			fmt.Fprintf(&out, "at %s\n", text)
		}
		state.Now = at
		out.WriteString(Decide(state).String())
	}
	return out.String()
}

// Annotations of pods in scenarios: that the destination of the pod is still reserved, and until when the API server has
// refused or accepted its eviction.
const (
	awaiting      = "test/awaiting"
	refusedUntil  = "test/refused-until"
	acceptedUntil = "test/accepted-until"
)

// load reads the objects of a scenario.
func load(t *testing.T, data []byte) State {
	t.Helper()
	state := State{
		Volumes: map[types.NamespacedName]string{},
		Refused: map[types.UID]time.Time{}, Accepted: map[types.UID]time.Time{},
		Awaiting: map[types.UID]bool{},
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return state
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		unmarshal(t, doc, &kind, sigsyaml.Unmarshal)
		switch kind.Kind {
		case "Pod":
			pod := &corev1.Pod{}
			unmarshal(t, doc, pod, sigsyaml.UnmarshalStrict)
			pod.UID = types.UID(pod.Name)
			note(t, pod, refusedUntil, state.Refused)
			note(t, pod, acceptedUntil, state.Accepted)
			state.Awaiting[pod.UID] = pod.Annotations[awaiting] != ""
			state.Pods = append(state.Pods, pod)
		case "PersistentVolumeClaim":
			pvc := &corev1.PersistentVolumeClaim{}
			unmarshal(t, doc, pvc, sigsyaml.UnmarshalStrict)
			state.Volumes[types.NamespacedName{Namespace: pvc.Namespace, Name: pvc.Name}] = pvc.Spec.VolumeName
		case "VolumeAttachment":
			a := &storagev1.VolumeAttachment{}
			unmarshal(t, doc, a, sigsyaml.UnmarshalStrict)
			state.Attachments = append(state.Attachments, a)
		case "NodeClaim":
			claim := &apiv1.NodeClaim{}
			unmarshal(t, doc, claim, sigsyaml.UnmarshalStrict)
			if state.Deadline, err = Deadline(claim); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("objects.yaml holds a %q, which says nothing about draining", kind.Kind)
		}
	}
}

func note(t *testing.T, pod *corev1.Pod, annotation string, into map[types.UID]time.Time) {
	t.Helper()
	text, ok := pod.Annotations[annotation]
	if !ok {
		return
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	into[pod.UID] = at
}

func unmarshal(t *testing.T, doc []byte, into any, by func([]byte, any, ...sigsyaml.JSONOpt) error) {
	t.Helper()
	if err := by(doc, into); err != nil {
		t.Fatalf("read %T: %v\n%s", into, err, doc)
	}
}
