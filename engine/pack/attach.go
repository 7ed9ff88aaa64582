package pack

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// How many volumes a node can attach is a column for each driver, as if it were a resource of that name. Volumes that pods share
// are no part of their amounts, see crate.
const attachPrefix = "attachable-volumes-csi-"

// plenty stands for the limit of a type of which none is known: more than the pods of a node use.
const plenty = 1 << 12

// attachColumns adds a column for each driver that attaches volumes of pods and of which some type can attach only so many.
func (p *problem) attachColumns(pods []*model.Pod) {
	users, drivers := map[volumeKey]int{}, map[string]bool{}
	for _, pod := range pods {
		for _, v := range p.volumesOf(pod) {
			users[v]++
			drivers[v.driver] = true
		}
	}
	if len(drivers) == 0 {
		return
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
	p.attachAt = map[string]int{}
	for _, driver := range sortedKeys(drivers) {
		if limited[driver] {
			p.attachAt[driver] = len(p.cols)
			p.cols = append(p.cols, corev1.ResourceName(attachPrefix+driver))
		}
	}
	p.share(pods, users)
}

// driver returns the driver that column i counts the volumes of; false if it is a column of another kind.
func (p *problem) driver(i int) (string, bool) {
	if i < p.plain {
		return "", false
	}
	return string(p.cols[i][len(attachPrefix):]), true
}

// vectorOf returns what the pod asks for, by column, and the volumes that it shares.
func (p *problem) vectorOf(pod *model.Pod) ([]int64, cargo) {
	v := p.cols.vector(pod.Requests)
	if p.plain == len(p.cols) {
		return v, nil
	}
	var shared cargo
	for _, volume := range p.volumesOf(pod) {
		if x, ok := p.crates[volume]; ok {
			shared = append(shared, x)
		} else if column, limited := p.attachAt[volume.driver]; limited {
			v[column]++
		}
	}
	slices.SortFunc(shared, compareCrates)
	return v, shared
}

// attachableBy sets how many volumes of each driver a node of the type can attach in its room, beside those of the daemons, and
// returns which of the crates those are.
func (p *problem) attachableBy(t *model.InstanceType, daemons []*model.Daemon, room []int64) (aboard cargo) {
	for driver, i := range p.attachAt {
		room[i] = plenty
		if n, known := p.attachLimit(t, driver); known {
			room[i] = int64(n)
		}
	}
	var brought []volumeKey
	for _, d := range daemons {
		for _, v := range p.volumesOf(d.Pod) {
			column, limited := p.attachAt[v.driver]
			if !limited || slices.Contains(brought, v) {
				continue
			}
			brought = append(brought, v)
			room[column]--
			if x, ok := p.crates[v]; ok {
				aboard = append(aboard, x)
			}
		}
	}
	aboard = slices.DeleteFunc(aboard, func(x crate) bool { return room[x.column] < 0 }) // the daemons alone are too many
	for i := p.plain; i < len(p.cols); i++ {
		room[i] = max(room[i], 0)
	}
	slices.SortFunc(aboard, compareCrates)
	return aboard
}

// limitOpen enters how many volumes t can attach, of which the type is not known: as many as any of several has room for.
// Aboard is what the daemons of all of them bring.
func (p *problem) limitOpen(t *target, aboard cargo) {
	if p.plain == len(p.cols) {
		return
	}
	t.attach, t.attached = map[string]int{}, map[string]bool{}
	for driver, i := range p.attachAt {
		t.attach[driver] = int(t.room[i])
	}
	for v, x := range p.crates {
		if aboard.has(cargo{x}) {
			t.attached[v.driver+" "+v.key] = true
		}
	}
	p.leaveToAttach(t)
}

// leaveToAttach bounds the volumes of t by attach alone, which knows them one by one.
func (p *problem) leaveToAttach(t *target) {
	for i := p.plain; i < len(p.cols); i++ {
		t.room[i] = plenty
	}
}

// attachDaemons takes the volumes of daemons that t has not got yet out of what it can attach.
func (p *problem) attachDaemons(t *target, daemons []*model.Daemon) {
	for _, d := range daemons {
		if slices.ContainsFunc(t.node.Pods, func(pod *model.Pod) bool { return owns(d, pod) }) {
			continue
		}
		for _, v := range p.volumesOf(d.Pod) {
			t.load(v)
		}
	}
}

// load counts a volume that comes to t.
func (t *target) load(v volumeKey) {
	key := v.driver + " " + v.key
	if _, limited := t.attach[v.driver]; limited && !t.attached[key] {
		t.attached[key] = true
		t.attach[v.driver]--
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
			sh.aboard = p.attachableBy(sh.typ, sh.bearers, sh.room)
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
