package hollow

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// All stages can be read, kwok accepts them, and none of them writes the allocatable resources of a node.
func TestStages(t *testing.T) {
	stages, err := loadStages(stageFiles)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for ref, list := range stages {
		if understood, err := lifecycle.NewLifecycle(list); err != nil || len(understood) != len(list) {
			t.Errorf("%s: kwok takes %d of %d stages: %v", ref.Kind, len(understood), len(list), err)
		}
		for _, stage := range list {
			names[ref.Kind] = append(names[ref.Kind], stage.Name)
			for _, step := range stage.Spec.Steps {
				if ref.Kind == "Node" && strings.Contains(step.Patch.Template, "allocatable") {
					t.Errorf("stage %s writes the size of a node", stage.Name)
				}
			}
		}
		slices.Sort(names[ref.Kind])
	}
	want := map[string][]string{
		"Node": {"node-ready"}, "Pod": {"pod-complete", "pod-delete", "pod-ready"},
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

func TestMisspelledStageIsRefused(t *testing.T) {
	_, err := loadStages(fstest.MapFS{"stages/x.yaml": {Data: []byte("kind: Stage\nspec: {dely: 1}\n")}})
	if err == nil || !strings.Contains(err.Error(), "stages/x.yaml") || !strings.Contains(err.Error(), "dely") {
		t.Errorf("error is %v, want the file and the field", err)
	}
}
