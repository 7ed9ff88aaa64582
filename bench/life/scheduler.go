package life

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A size is an amount of millicores, bytes of memory, and a number of pods.
type size [3]int64

func sizeOf(r model.Resources) size {
	pods := r[corev1.ResourcePods]
	if pods == 0 {
		pods = 1
	}
	return size{r[corev1.ResourceCPU], r[corev1.ResourceMemory], pods}
}

func (a size) plus(b size) size  { return size{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func (a size) minus(b size) size { return size{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a size) holds(b size) bool { return b[0] <= a[0] && b[1] <= a[1] && b[2] <= a[2] }

// waiting returns the pods without a node, oldest first.
func (w *World) waiting() []*corev1.Pod {
	var list []*corev1.Pod
	for _, p := range w.pods {
		if p.Spec.NodeName == "" {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(key(a), key(b)))
	})
	return list
}

// schedule binds the pods that fit on a node: on the nominated node, else on the node with the best score. If Lost is not
// 0, pods that have a nomination to a joined node come first, because nominations reserve capacity.
func (w *World) schedule(pods []*corev1.Pod) {
	nodes := w.sorted()
	var others []*corev1.Pod
	for _, p := range pods {
		if n := w.nodes[w.promises[key(p)]]; w.Lost > 0 && (n == nil || !n.joined || w.loses(p)) {
			others = append(others, p)
		} else if n := w.choose(p, nodes); n != nil {
			w.bind(p, n)
		}
	}
	for _, p := range others {
		if n := w.best(p, nodes, ""); n != nil {
			w.bind(p, n)
		}
	}
}

// loses reports whether the pod has no nomination in this second.
func (w *World) loses(p *corev1.Pod) bool {
	h := fnv.New64a()
	fmt.Fprint(h, p.Name, w.now.Unix())
	return float64(h.Sum64()%1e6) < 1e6*w.Lost
}

func (w *World) choose(p *corev1.Pod, nodes []*node) *node {
	return w.best(p, nodes, w.promises[key(p)])
}

// best returns the nominated node if the pod fits there, else the node with the best score on which it fits, nil if
// there is none.
func (w *World) best(p *corev1.Pod, nodes []*node, nominated string) *node {
	want := w.requests[key(p)]
	var open []*node
	for _, n := range nodes {
		if !n.joined || len(n.object.Spec.Taints) > 0 || n.going || !n.free.holds(want) {
			continue
		}
		if nominated == n.object.Name {
			return n
		}
		open = append(open, n)
	}
	if len(open) == 0 {
		return nil
	}
	spread := spreads(p.Labels["app"], open)
	scores := map[*node]float64{}
	for i, n := range open {
		scores[n] = score(n, want) + 2*spread[i]
	}
	return slices.MaxFunc(slices.Collect(maps.Keys(scores)), func(a, b *node) int {
		return cmp.Or(cmp.Compare(scores[a], scores[b]), cmp.Compare(lot(p, a), lot(p, b)))
	})
}

// score returns the sum of kube-scheduler's scores LeastAllocated and BalancedAllocation, each with weight one, from 0
// to 200.
func score(n *node, want size) float64 {
	var used [2]float64
	for k := range used {
		used[k] = float64(n.room[k]-n.free[k]+want[k]) / float64(n.room[k])
	}
	return 100*(1-(used[0]+used[1])/2) + 100*(1-math.Abs(used[0]-used[1])/2)
}

// spreads returns the scores of PodTopologySpread by host with the default constraints, from 0 to 100.
func spreads(app string, nodes []*node) []float64 {
	raw := make([]float64, len(nodes))
	least, most := math.Inf(1), 0.0
	for i, n := range nodes {
		raw[i] = math.Round(float64(n.apps[app])*math.Log(float64(len(nodes)+2)) + 2)
		least, most = min(least, raw[i]), max(most, raw[i])
	}
	for i := range raw {
		raw[i] = 100 * (most + least - raw[i]) / most
	}
	return raw
}

// lot returns a pseudo-random number that decides between nodes with equal scores.
func lot(p *corev1.Pod, n *node) uint64 {
	h := fnv.New64a()
	h.Write([]byte(p.Name + "/" + n.object.Name))
	return h.Sum64()
}
