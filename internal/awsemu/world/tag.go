package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// CreateTags sets tags on instances, launch templates, subnets, security groups and images. If one id is unknown, the call fails.
func (w *World) CreateTags(ids []string, tags map[string]string) *wire.Error {
	if err := CheckTags(tags); err != nil {
		return err
	}
	return w.retag(ids, func(old map[string]string) map[string]string { return merged(old, tags) })
}

// DeleteTags removes tags. A nil value removes the key with any value. Without tags, it removes all tags whose keys do not begin
// with "aws:".
func (w *World) DeleteTags(ids []string, tags map[string]*string) *wire.Error {
	return w.retag(ids, func(old map[string]string) map[string]string {
		out := maps.Clone(old)
		for k, v := range old {
			want, listed := tags[k]
			if listed && (want == nil || *want == v) || len(tags) == 0 && !strings.HasPrefix(k, "aws:") {
				delete(out, k)
			}
		}
		return out
	})
}

// retag replaces the tags of resources by the results of change. It finds all resources before it changes any.
func (w *World) retag(ids []string, change func(map[string]string) map[string]string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	targets := make([]*map[string]string, 0, len(ids))
	for _, id := range ids {
		target, err := w.tagsOf(id)
		if err != nil {
			return err
		}
		targets = append(targets, target)
	}
	for _, t := range targets {
		next := change(*t)
		if len(next) > 50 {
			return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
		}
		*t = next
	}
	return nil
}

// tagsOf returns a pointer to the tags of a resource.
func (w *World) tagsOf(id string) (*map[string]string, *wire.Error) {
	kind, _, _ := strings.Cut(id, "-")
	switch kind {
	case "i":
		if err := w.checkInstances([]string{id}); err != nil {
			return nil, err
		}
		return &w.instances[id].Tags, nil
	case "lt":
		t, err := w.template(TemplateRef{ID: id})
		if err != nil {
			return nil, err
		}
		return &t.Tags, nil
	case "subnet":
		if s := w.subnetByID(id); s != nil {
			return &s.Tags, nil
		}
		return nil, wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
	case "sg":
		if i := slices.IndexFunc(w.groups, func(g SecurityGroup) bool { return g.ID == id }); i >= 0 {
			return &w.groups[i].Tags, nil
		}
		return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
	case "ami":
		if image := w.imageByID(id); image != nil {
			return &image.Tags, nil
		}
		return nil, wire.Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
	}
	return nil, wire.Errorf("InvalidID", "The ID '%s' is not valid", id)
}
