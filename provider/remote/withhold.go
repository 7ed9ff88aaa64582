package remote

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

// withheldPause is the wait before the next notices are received, if some were withheld. The provider may send those again
// without a pause.
const withheldPause = 10 * time.Second

// doubtful are the kinds of notices that report the health of an instance. They may be wrong for many instances at the same
// time. All other kinds report what the cloud does with an instance.
var doubtful = []cloud.NoticeKind{
	model.NoticeInstanceFailed, model.NoticeHostFailed, model.NoticeEventPending, model.NoticeScheduledChange,
}

// bounded removes notices about the health of instances from the batch if they are about too many
// instances at the same time (package withhold). Notices that are removed count as failed, so that
// the provider sends them again. Notices about instances without a NodeClaim are kept. Without
// Config.Client, all notices are kept.
func (n *notices) bounded(ctx context.Context, batch cloud.NoticeBatch) (cloud.NoticeBatch, error) {
	p := n.provider
	if p.config.Client == nil || !slices.ContainsFunc(batch.Notices, isDoubtful) {
		return batch, nil
	}
	var claims apiv1.NodeClaimList
	if err := p.config.Client.List(ctx, &claims); err != nil {
		return cloud.NoticeBatch{}, fmt.Errorf("list claims: %w", err)
	}
	managed, classOf := 0, map[string]string{} // node classes by instance, short name of the instance, and node
	for i := range claims.Items {
		c := &claims.Items[i]
		if id := c.Status.ProviderID; id != "" && c.DeletionTimestamp.IsZero() && p.info.Facts.Manages(c.Spec.NodeClassRef) {
			managed++
			for _, name := range []string{id, id[strings.LastIndexByte(id, '/')+1:], c.Status.NodeName} {
				classOf[name] = c.Spec.NodeClassRef.Name
			}
		}
	}
	target := func(notice cloud.Notice) string { return notice.Instance + notice.Node } // one of them is empty
	concerned := map[string]string{}                                                    // node classes by target
	for _, notice := range batch.Notices {
		if class, ours := classOf[target(notice)]; ours && isDoubtful(notice) {
			concerned[target(notice)] = class
		}
	}
	classes := make([]string, 0, len(concerned))
	for _, class := range concerned {
		classes = append(classes, class)
	}
	allowed, err := p.breaker.Admit(ctx, withhold.CauseStatus, classes, managed)
	if err != nil {
		return cloud.NoticeBatch{}, err
	}
	var passed, held []cloud.Notice
	for _, notice := range batch.Notices {
		if class, ours := concerned[target(notice)]; ours && isDoubtful(notice) && !allowed(class) {
			held = append(held, notice)
			continue
		}
		passed = append(passed, notice)
	}
	if len(held) == 0 {
		return batch, nil
	}
	acknowledge := batch.Acknowledge
	batch.Notices, batch.Next = passed, withheldPause
	batch.Acknowledge = func(ctx context.Context, failed []cloud.Notice) error {
		return acknowledge(ctx, append(slices.Clone(failed), held...))
	}
	return batch, nil
}

func isDoubtful(n cloud.Notice) bool { return slices.Contains(doubtful, n.Kind) }

// nodeClasses returns all node classes of the provider.
func (p *Provider) nodeClasses(ctx context.Context) (out []client.Object, err error) {
	for _, kind := range p.info.Facts.NodeClasses {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := p.config.Reader.List(ctx, list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// warnWithheld publishes the event about notices that are withheld.
func (p *Provider) warnWithheld(about client.Object, message string) {
	p.config.Events.Publish(telemetry.Event{
		Object: about, Type: corev1.EventTypeWarning, Reason: telemetry.EventTerminationWithheld, Message: message,
	})
}
