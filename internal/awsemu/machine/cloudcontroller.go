package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// providerPrefix is the prefix of every provider ID.
const providerPrefix = "aws:///"

// adopt does the work of the cloud controller for a new Node: it sets the provider ID and the labels of type and zone,
// and removes the taint "uninitialized".
func (s *step) adopt(ctx context.Context, m Machine) error {
	nodes := s.cfg.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, m.Node, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(wrap("get node", m.Node, err))
	}
	node.Spec.ProviderID = providerPrefix + m.Zone + "/" + m.ID
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for k, v := range map[string]string{
		corev1.LabelInstanceTypeStable:      m.Type.Name,
		corev1.LabelInstanceType:            m.Type.Name,
		corev1.LabelTopologyZone:            m.Zone,
		corev1.LabelTopologyRegion:          m.Region,
		corev1.LabelFailureDomainBetaZone:   m.Zone,
		corev1.LabelFailureDomainBetaRegion: m.Region,
		"topology.k8s.aws/zone-id":          m.ZoneID,
	} {
		node.Labels[k] = v
	}
	_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
	return ignoreGone(wrap("update node", m.Node, err))
}

// remove deletes the Node of a terminated instance, unless another machine has the name now.
func (s *step) remove(ctx context.Context, id, name string) error {
	return s.removeNode(ctx, systemUUID(id), name)
}

// removeNode deletes the Node of the machine with the system UUID, unless another machine has the name now.
func (s *step) removeNode(ctx context.Context, uuid, name string) error {
	nodes := s.cfg.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(wrap("get node", name, err))
	}
	if node.Status.NodeInfo.SystemUUID != uuid || !node.DeletionTimestamp.IsZero() {
		return nil
	}
	return ignoreGone(wrap("delete node", name, nodes.Delete(ctx, name, metav1.DeleteOptions{})))
}

// Sweep deletes the Nodes of instances that do not exist in the account, for example after a restart of the emulator.
func (r *Runner) Sweep(ctx context.Context) error {
	known := map[string]bool{}
	for _, m := range r.cfg.Cloud.Machines() {
		known[systemUUID(m.ID)] = m.Power != Gone
	}
	nodes := r.cfg.Client.CoreV1().Nodes()
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range list.Items {
		uuid := node.Status.NodeInfo.SystemUUID
		if !strings.HasPrefix(uuid, "ec2") || known[uuid] {
			continue // created elsewhere, or its instance exists
		}
		if err := ignoreGone(wrap("delete node", node.Name, nodes.Delete(ctx, node.Name, metav1.DeleteOptions{}))); err != nil {
			return err
		}
	}
	return nil
}
