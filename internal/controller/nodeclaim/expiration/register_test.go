package expiration

import (
	"testing"

	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

func TestRegister(t *testing.T) {
	mgr := world.Manager(t)
	if err := (&Controller{Client: mgr.GetClient(), Cloud: &fakecloud.Cloud{}}).Register(mgr); err != nil {
		t.Fatal(err)
	}
}
