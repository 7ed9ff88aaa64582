package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/steer"
)

// A Nominator writes nominations into the status of pods. Make one with NewNominator; it is safe for concurrent use.
type Nominator struct {
	client client.Client
	slots  chan struct{}
}

// parallelNominations bounds how many nominations of the whole process are written at once, so that those of a large plan
// leave the API server time for others.
const parallelNominations = 20

// NewNominator returns a Nominator that writes with c.
func NewNominator(c client.Client) *Nominator {
	return &Nominator{client: c, slots: make(chan struct{}, parallelNominations)}
}

// Nominate writes all nominations, until ctx is done. It returns the pods as the API server stored them. Pods that are gone
// are passed over, and so are those that others have written since when a nomination is to be taken away: it may not be ours
// any more. The error joins what else went wrong.
func (n *Nominator) Nominate(ctx context.Context, nominations []steer.Nomination) ([]*corev1.Pod, error) {
	stored, errs := make([]*corev1.Pod, len(nominations)), make([]error, len(nominations))
	var g errgroup.Group
	g.SetLimit(parallelNominations)
	for i, x := range nominations {
		g.Go(func() error {
			select {
			case n.slots <- struct{}{}:
				defer func() { <-n.slots }()
				stored[i], errs[i] = n.nominate(ctx, x)
			case <-ctx.Done():
				errs[i] = ctx.Err()
			}
			return nil
		})
	}
	err := errors.Join(g.Wait(), errors.Join(errs...))
	var pods []*corev1.Pod
	for _, p := range stored {
		if p != nil {
			pods = append(pods, p)
		}
	}
	return pods, err
}

// nominate writes one nomination; the pod is nil if there was nothing to write to.
func (n *Nominator) nominate(ctx context.Context, x steer.Nomination) (*corev1.Pod, error) {
	patch, err := nominationPatch(x.Pod, x.Node)
	if err != nil {
		return nil, err
	}
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: x.Pod.Object.Namespace, Name: x.Pod.Object.Name}}
	err = n.client.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(steer.Writer))
	if Conflict(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("nominate pod %s to node %q: %w", x.Pod.Key, x.Node, err)
	}
	return o, nil
}

// nominationPatch never writes to another pod of the same name. A version is asked for only where something is taken away:
// the scheduler writes the conditions of pods that wait all the time.
func nominationPatch(p *model.Pod, node string) ([]byte, error) {
	metadata, status := map[string]any{"uid": p.UID}, map[string]any{"nominatedNodeName": node}
	if node == "" {
		metadata["resourceVersion"], status["nominatedNodeName"] = p.Object.ResourceVersion, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	if err != nil {
		return nil, fmt.Errorf("make patch of pod %s: %w", p.Key, err)
	}
	return patch, nil
}
