package e2e

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/apitest"
)

// The API server gives the same verdict on every object of the table as the schema tests of package admission, which run
// without it.
func TestAPIServerJudgesObjects(t *testing.T) {
	cases, err := apitest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			err := judge(t, c)
			switch {
			case c.WantErr == apitest.OK && err != nil:
				t.Fatalf("refused: %v", err)
			case c.WantErr != apitest.OK && err == nil:
				t.Fatalf("accepted, want an error with %q", c.WantErr)
			case c.WantErr != apitest.OK && !strings.Contains(err.Error(), c.WantErr):
				t.Fatalf("refused with %v, want %q in it", err, c.WantErr)
			}
			if c.WantStored != nil {
				wantStored(t, c)
			}
		})
	}
}

// judge creates the object, or updates the stored object Old to it. If the stored result is not compared, the request is a dry
// run, so that no controller acts on the object.
func judge(t *testing.T, c apitest.Case) error {
	t.Helper()
	if c.Old == nil {
		create := &client.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
		if c.WantStored == nil {
			create.DryRun = []string{metav1.DryRunAll}
			return shared.Create(t.Context(), c.Object.DeepCopy(), create)
		}
		shared.Make(t, c.Object.DeepCopy())
		return nil
	}
	shared.Make(t, c.Old.DeepCopy())
	for {
		err := change(t, c)
		// The controller acts on the stored object at the same time, and may even delete it. Then it is created again, and the
		// request is repeated.
		if again := apierrors.IsConflict(err) || apierrors.IsNotFound(err); !again || t.Context().Err() != nil {
			return err
		}
		old := c.Old.DeepCopy()
		if err := shared.Create(t.Context(), old); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// change replaces the stored object with the new one, as a dry run.
func change(t *testing.T, c apitest.Case) error {
	t.Helper()
	stored := c.Old.DeepCopy()
	if err := shared.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		return err
	}
	object := c.Object.DeepCopy()
	object.SetResourceVersion(stored.GetResourceVersion())
	return shared.Update(t.Context(), object, &client.UpdateOptions{
		FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll},
	})
}

func wantStored(t *testing.T, c apitest.Case) {
	t.Helper()
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(c.Object.GroupVersionKind())
	if err := shared.Get(t.Context(), client.ObjectKeyFromObject(c.Object), stored); err != nil {
		t.Fatal(err)
	}
	with := apitest.Merge(stored.Object, c.WantStored)
	if !equality.Semantic.DeepEqual(with, stored.Object) {
		t.Errorf("stored %v\nwant in it %v", stored.Object, c.WantStored)
	}
}
