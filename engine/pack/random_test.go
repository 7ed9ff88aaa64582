package pack_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/engine/topology"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// clusters is the number of random clusters for each test. The flag -seeds requests more.
const clusters = 500

// solve returns the snapshot of c and its plan.
func solve(c *scenario.Cluster) (*model.Snapshot, *model.Plan, *random.Breach) {
	s, err := c.Snapshot()
	if err != nil {
		return nil, nil, &random.Breach{Rule: "cluster", Detail: err.Error()}
	}
	return s, pack.Solve(s, pack.Options{Labels: random.Labels, DefaultSpread: defaultsOf(c)}), nil
}

// defaultsOf returns the function that returns the default spread constraints of a pod, nil if there are none.
func defaultsOf(c *scenario.Cluster) func(*model.Pod) []corev1.TopologySpreadConstraint {
	if len(c.Spread) == 0 {
		return nil
	}
	return topology.Defaults{Constraints: c.Spread, Services: c.ServiceObjects()}.Of()
}

// Every plan of a random cluster is accepted by verify, and places or refuses every pending pod once.
func TestRandomPlansAreVerified(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		s, plan, b := solve(c)
		if b != nil {
			return b
		}
		rules := verify.Rules{Labels: random.Labels, DefaultSpread: defaultsOf(c)}
		if found := rules.Plan(s, plan); len(found) > 0 {
			return &random.Breach{Rule: string(found[0].Rule), Detail: fmt.Sprintf("%v\nplan:\n%s", found, plan)}
		}
		return nil
	})
}

// The plan does not depend on the order of objects, nor on the number of processors.
func TestRandomOrderDoesNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		runtime.GOMAXPROCS(2)
		_, want, b := solve(c)
		if b != nil {
			return b
		}
		runtime.GOMAXPROCS(1)
		slices.Reverse(c.Pods)
		slices.Reverse(c.Types)
		slices.Reverse(c.Pools)
		slices.Reverse(c.Nodes)
		slices.Reverse(c.Claims)
		slices.Reverse(c.Daemons)
		_, got, b := solve(c)
		if b != nil {
			return b
		}
		return differ("order", got.String(), want.String())
	})
}

func differ(rule, got, want string) *random.Breach {
	if got == want {
		return nil
	}
	return &random.Breach{Rule: rule, Detail: fmt.Sprintf("plan:\n%s\nwant:\n%s", got, want)}
}

// Names of pods and nodes decide ties only: with other names, as many pods are placed at the same price.
func TestRandomNamesDoNotMatter(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		c.Promise = nil // nominations refer to names
		_, want, b := solve(c)
		if b != nil {
			return b
		}
		for i := range c.Pods { // reverse the order of names
			c.Pods[i].Name = fmt.Sprintf("q%02d", 99-i)
		}
		_, got, b := solve(c)
		if b != nil {
			return b
		}
		return differ("names", outcome(got), outcome(want))
	})
}

// outcome describes how good a plan is: the number of refused pods, and the price.
func outcome(p *model.Plan) string { return fmt.Sprintf("%d refused, $%.6f", missing(p), p.Price) }

// missing returns how many pods the plan refuses.
func missing(p *model.Plan) int {
	n := 0
	for _, r := range p.Refusals {
		n += len(r.Pods)
	}
	return n
}

// slack is the factor by which the price of a plan may differ by chance, since packing is a heuristic. About one plan
// in some thousands comes near this factor.
const slack = 1.2

// worse returns a breach if got is a worse plan than want: fewer pods placed, or as many at a higher price.
func worse(rule string, got, want *model.Plan) *random.Breach {
	if n, m := missing(got), missing(want); n < m || n == m && got.Price <= want.Price*slack+1e-9 {
		return nil
	}
	return &random.Breach{Rule: rule, Detail: fmt.Sprintf("%s\n%s\nwas %s\n%s", outcome(got), got, outcome(want), want)}
}

// Another type with the capacity of an existing one and a higher price makes no plan worse.
func TestRandomWorseTypeIsIgnored(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		_, want, b := solve(c)
		if b != nil {
			return b
		}
		if strings.Contains(random.Text(c), "minValues") {
			return nil // one more type may meet minValues of a pool of higher weight
		}
		bad := c.Types[0]
		bad.Name, bad.Price, bad.Spot, bad.Reserved = "zz-worse", bad.Price*1.5, bad.Spot*1.5, 0
		c.Types = append(c.Types, bad)
		_, got, b := solve(c)
		if b != nil {
			return b
		}
		return worse("a worse type", got, want)
	})
}

// If one pod is removed from the cluster, the plan for the other pods costs no more than before.
func TestRandomPodLessIsNotDearer(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		_, want, b := solve(c)
		if b != nil || missing(want) > 0 {
			return b
		}
		last := &c.Pods[len(c.Pods)-1]
		if last.Count < 2 {
			return nil
		}
		last.Count--
		_, got, b := solve(c)
		if b != nil || missing(got) > 0 && spreadBesideDaemons(c) {
			return b // one node less has one DaemonSet pod less. That may lower a domain's count, so pods in other domains are refused
		}
		return worse("a pod less", got, want)
	})
}

// spreadBesideDaemons reports whether a spread constraint counts pods of a DaemonSet, or whether there are both DaemonSets and
// minDomains.
func spreadBesideDaemons(c *scenario.Cluster) bool {
	if len(c.Daemons) > 0 && strings.Contains(random.Text(c), "minDomains") {
		return true
	}
	return slices.ContainsFunc(c.Daemons, func(d scenario.Pod) bool {
		return slices.ContainsFunc(c.Pods, func(p scenario.Pod) bool {
			return slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(t corev1.TopologySpreadConstraint) bool {
				return t.WhenUnsatisfiable == corev1.DoNotSchedule && selects(t.LabelSelector, d.Labels)
			})
		})
	})
}

// selects reports whether the labels match the selector. It returns true for an invalid selector.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || selector.Matches(klabels.Set(of))
}

// An additional empty node without taints makes no plan worse, unless it adds a topology domain.
func TestRandomRoomMakesNothingWorse(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		_, want, b := solve(c)
		if b != nil || len(c.Nodes) == 0 || len(c.Spread) > 0 || strings.Contains(random.Text(c), "topologySpread") {
			return b // the additional node is an additional domain of spread constraints
		}
		more := c.Nodes[0]
		more.Name, more.Pool, more.Taints, more.Pods = "zz-room", "", nil, nil
		more.Deleting, more.Starting, more.Cordoned, more.NotReady = false, false, false, false
		c.Nodes = append(c.Nodes, more)
		_, got, b := solve(c)
		if b != nil {
			return b
		}
		return worse("more room", got, want)
	})
}

// A pool whose limits allow no node changes nothing: as many pods are placed as without the pool.
func TestRandomClosedPoolChangesNothing(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		_, want, b := solve(c)
		if b != nil {
			return b
		}
		closed := c.Pools[0]
		closed.Name, closed.Taints = "zz-closed", nil
		closed.Limits = corev1.ResourceList{"nodes": resource.MustParse("0")}
		c.Pools = append(c.Pools, closed)
		_, got, b := solve(c)
		if b != nil {
			return b
		}
		if missing(got) != missing(want) {
			return differ("a closed pool", got.String(), want.String())
		}
		return nil
	})
}
