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
	// Register returns an error if the scheme lacks the kind of a node class, because the kind could not be watched.
	if err := (&Controller{Client: mgr.GetClient(), Cloud: &fakecloud.Cloud{}}).Register(mgr); err == nil {
		t.Error("an unknown kind of node class is no error")
	}
}
