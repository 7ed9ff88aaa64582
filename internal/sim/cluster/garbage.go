package cluster

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// Garbage deletes objects of all kinds whose owners were all deleted.
type Garbage struct {
	*Actor
	c *Cluster
}

func newGarbage(c *Cluster) *Garbage {
	g := &Garbage{Actor: newActor("garbage-collector", c), c: c}
	g.any = g.object
	return g
}

// observe marks objects that may have lost their last owner.
func (g *Garbage) observe(r ref, before, after client.Object) {
	switch {
	case after == nil:
		for dependent := range g.c.owned[before.GetUID()] {
			g.dirty[dependent] = true
		}
	case before == nil && len(after.GetOwnerReferences()) > 0:
		g.dirty[r] = true
	}
}

// object deletes an object if it has owner references and none of the owners exists any more.
func (g *Garbage) object(_ time.Time, r ref) (time.Time, error) {
	o := g.c.objects[r]
	if o == nil || len(o.GetOwnerReferences()) == 0 || o.GetDeletionTimestamp() != nil {
		return time.Time{}, nil
	}
	for _, owner := range o.GetOwnerReferences() {
		if g.c.uids[owner.UID] {
			return time.Time{}, nil
		}
	}
	uid := o.GetUID()
	err := kubeapi.Delete(g.c.server, o, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return time.Time{}, err
}
