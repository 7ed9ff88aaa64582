package pack

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// How many volumes a node can attach is a column for each driver, as if it were a resource of that name. Pods that share a
// volume count it once each, which is too often where they share a node too, and never too seldom.
const attachPrefix = "attachable-volumes-csi-"

// plenty stands for the limit of a type of which none is known: more than the pods of a node use.
const plenty = 1 << 12

// attachColumns returns a column for each driver that attaches volumes of pods and of which some type can attach only so many.
func (p *problem) attachColumns(pods []*model.Pod) columns {
	drivers := map[string]bool{}
	for _, pod := range pods {
		if len(pod.Object.Spec.Volumes) > 0 {
			for driver := range p.attachments(pod) {
				drivers[driver] = true
			}
		}
	}
	if len(drivers) == 0 {
		return nil
	}
	p.learned = p.snapshot.SeenAttachLimits()
	limited := map[string]bool{}
	for _, byDriver := range p.learned {
		for driver := range byDriver {
			limited[driver] = true
		}
	}
	for _, pool := range p.snapshot.Pools() {
		for _, t := range p.snapshot.Types(pool.Name) {
			for driver := range t.Attach {
				limited[driver] = true
			}
		}
	}
	var out columns
	for _, driver := range sortedKeys(drivers) {
		if limited[driver] {
			out = append(out, corev1.ResourceName(attachPrefix+driver))
		}
	}
	return out
}

// attachments returns how many volumes of the pod each driver attaches; nil for none. Of a pod whose volumes cannot be
// followed that is not known, and it is refused for it.
func (p *problem) attachments(pod *model.Pod) map[string]int {
	volumes, no := p.snapshot.VolumesOf(pod)
	if !no.OK() {
		return nil
	}
	var out map[string]int
	for i, v := range volumes {
		if v.Driver == "" || slices.ContainsFunc(volumes[:i], func(o model.Volume) bool { return o.Driver == v.Driver && o.Key == v.Key }) {
			continue
		}
		if out == nil {
			out = map[string]int{}
		}
		out[v.Driver]++
	}
	return out
}

// driver returns the driver that column i counts the volumes of; false if it is a column of another kind.
func (p *problem) driver(i int) (string, bool) {
	if i < p.plain {
		return "", false
	}
	return string(p.cols[i][len(attachPrefix):]), true
}

// vectorOf returns what the pod asks for, by column.
func (p *problem) vectorOf(pod *model.Pod) []int64 {
	v := p.cols.vector(pod.Requests)
	if p.plain < len(p.cols) && len(pod.Object.Spec.Volumes) > 0 {
		count := p.attachments(pod)
		for i := p.plain; i < len(p.cols); i++ {
			driver, _ := p.driver(i)
			v[i] = int64(count[driver])
		}
	}
	return v
}

// attachableBy sets how many volumes of each driver a node of the type can attach in its room, beside those of the daemons.
func (p *problem) attachableBy(t *model.InstanceType, daemons []*model.Daemon, room []int64) {
	for i := p.plain; i < len(p.cols); i++ {
		driver, _ := p.driver(i)
		room[i] = plenty
		if n, known := p.attachLimit(t, driver); known {
			room[i] = int64(n)
			for _, d := range daemons {
				room[i] = max(room[i]-int64(p.attachments(d.Pod)[driver]), 0)
			}
		}
	}
}

// attachDaemons takes the volumes of daemons that t has not got yet out of what it can attach.
func (p *problem) attachDaemons(t *target, daemons []*model.Daemon) {
	for _, d := range daemons {
		if slices.ContainsFunc(t.node.Pods, func(pod *model.Pod) bool { return owns(d, pod) }) {
			continue
		}
		for driver, n := range p.attachments(d.Pod) {
			if _, limited := t.attach[driver]; limited {
				t.attach[driver] -= n
			}
		}
	}
}

// attachLimit returns how many volumes of the driver a node of the type can attach: as nodes of the type say, else as the
// provider does.
func (p *problem) attachLimit(t *model.InstanceType, driver string) (n int, known bool) {
	if n, known = p.learned[t.Name][driver]; !known {
		n, known = t.Attach[driver]
	}
	return n, known
}

// limitAttachments enters into the room of each shape how many volumes it can attach.
func (p *problem) limitAttachments() {
	for _, s := range p.shelves {
		for _, sh := range s.pool.shapes {
			p.attachableBy(sh.typ, sh.bearers, sh.room)
			sh.scaled = p.cols.scale(sh.room)
		}
	}
}

// limitsOn returns how many volumes each driver may attach to a node. What its drivers have not told yet is as with others of
// its type.
func (p *problem) limitsOn(n *model.Node) map[string]int {
	limits := p.snapshot.AttachLimits(n)
	if p.plain == len(p.cols) {
		return limits
	}
	name := n.Labels[corev1.LabelInstanceTypeStable]
	types := p.snapshot.Types(n.Pool)
	at := slices.IndexFunc(types, func(t *model.InstanceType) bool { return t.Name == name })
	if at < 0 {
		return limits
	}
	for i := p.plain; i < len(p.cols); i++ {
		driver, _ := p.driver(i)
		if _, told := limits[driver]; told {
			continue
		}
		if most, known := p.attachLimit(types[at], driver); known {
			if limits == nil {
				limits = map[string]int{}
			}
			limits[driver] = most
		}
	}
	return limits
}

// unattachable is the verdict on pods with more volumes of a driver than any type can attach.
func unattachable(driver string, by int64) model.Verdict {
	return model.Verdict{Rule: model.RuleVolume, Subject: fmt.Sprintf(
		"no instance type attaches so many volumes of driver %s: %d fewer would do", driver, by)}
}
