package disruptionstatus

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

// withClass is a cloud whose node classes are of another kind.
type withClass struct {
	*fakecloud.Cloud
	kind schema.GroupVersionKind
}

func (c withClass) Facts() cloud.Facts {
	return cloud.Facts{NodeClasses: []schema.GroupVersionKind{c.kind}}
}

func TestRegister(t *testing.T) {
	mgr := world.Manager(t)
	known := withClass{&fakecloud.Cloud{}, kwokv1alpha1.GroupVersion.WithKind("KWOKNodeClass")}
	if err := (&Controller{Client: mgr.GetClient(), Cloud: known}).Register(mgr); err != nil {
		t.Error(err)
	}
	// A kind that the program does not know must not be left unwatched in silence.
	if err := (&Controller{Client: mgr.GetClient(), Cloud: &fakecloud.Cloud{}}).Register(mgr); err == nil {
		t.Error("an unknown kind of node class is no error")
	}
}
