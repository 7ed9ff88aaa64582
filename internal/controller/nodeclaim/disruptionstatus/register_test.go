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
	// A kind without a Go type belongs to a provider in another process, and is watched as well.
	o, err := classOf(mgr.GetScheme(), fakecloud.NodeClass)
	if err != nil || o.GetObjectKind().GroupVersionKind() != fakecloud.NodeClass {
		t.Errorf("watched is %v, %v", o, err)
	}
	if err := (&Controller{Client: mgr.GetClient(), Cloud: &fakecloud.Cloud{}}).Register(mgr); err != nil {
		t.Error(err)
	}
}
