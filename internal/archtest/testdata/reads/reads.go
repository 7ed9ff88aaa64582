// Package reads reads with a client, which controllers that decide for the cluster must not do.
package reads

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/observe"
)

func direct(ctx context.Context, c client.Client, r client.Reader) error {
	return errors.Join(
		c.List(ctx, &corev1.NodeList{}),                         // want List of a client
		r.Get(ctx, client.ObjectKey{Name: "a"}, &corev1.Node{}), // want Get of a client
	)
}

func fine(c *observe.Cluster, header interface{ Get(string) string }) string {
	c.Snapshot()
	return header.Get("a")
}
