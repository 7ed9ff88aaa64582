package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// errNoNodes is why an attempt fails if there are no nodes at all.
var errNoNodes = errors.New("no nodes available to schedule pods")

// choose returns the best feasible node for a pod in the snapshot. The error is errNoNodes or a *framework.FitError if the
// pod was rejected.
func (p *profile) choose(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, seed uint64) (string, error) {
	nodes, err := p.snapshot.List()
	if err != nil {
		return "", fmt.Errorf("list nodes: %w", err)
	}
	if len(nodes) == 0 {
		return "", errNoNodes
	}
	feasible, err := p.feasible(ctx, state, pod, nodes)
	if err != nil {
		return "", err
	}
	if len(feasible) == 1 {
		return feasible[0].Node().Name, nil
	}
	if status := p.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return "", status.AsError()
	}
	scores, status := p.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return "", status.AsError()
	}
	return best(scores, pod, seed), nil
}

// best returns the node with the highest score. One of several is chosen by a hash of the seed and the pod.
func best(scores []fwk.NodePluginScores, pod *corev1.Pod, seed uint64) string {
	top := slices.MaxFunc(scores, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) }).TotalScore
	var tied []string
	for _, s := range scores {
		if s.TotalScore == top {
			tied = append(tied, s.Name)
		}
	}
	slices.Sort(tied)
	h := fnv.New64a()
	h.Write([]byte(pod.Namespace + "/" + pod.Name))
	return tied[rand.New(rand.NewPCG(seed, h.Sum64())).IntN(len(tied))]
}

// feasible returns the nodes that pass the filters, at least one. If the nominated node is feasible, it returns that alone.
func (p *profile) feasible(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, all []fwk.NodeInfo) ([]fwk.NodeInfo, error) {
	fit := &framework.FitError{
		Pod: pod, NumAllNodes: len(all), Diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
	}
	only, status, rejectors := p.framework.RunPreFilterPlugins(ctx, state, pod)
	fit.Diagnosis.UnschedulablePlugins = rejectors
	switch {
	case status.IsRejected():
		fit.Diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		fit.Diagnosis.PreFilterMsg = status.Message()
		fit.Diagnosis.AddPluginStatus(status)
		return nil, fit
	case !status.IsSuccess():
		return nil, status.AsError()
	}
	if info, err := p.snapshot.Get(pod.Status.NominatedNodeName); err == nil {
		if passed, err := p.filter(ctx, state, pod, []fwk.NodeInfo{info}, fit); err != nil || len(passed) > 0 {
			return passed, err
		}
	}
	nodes := slices.SortedFunc(slices.Values(all), func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	if !only.AllNodes() {
		nodes = slices.DeleteFunc(nodes, func(n fwk.NodeInfo) bool { return !only.NodeNames.Has(n.Node().Name) })
		fit.Diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(rejectors))))
	}
	passed, err := p.filter(ctx, state, pod, nodes, fit)
	if err == nil && len(passed) == 0 {
		err = fit
	}
	return passed, err
}

// filter returns the nodes that pass the filters. It adds to fit the reasons why the other nodes do not pass.
func (p *profile) filter(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo, fit *framework.FitError,
) ([]fwk.NodeInfo, error) {
	var passed []fwk.NodeInfo
	for _, n := range nodes {
		status := p.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, n)
		switch {
		case status.IsSuccess():
			passed = append(passed, n)
		case status.IsRejected():
			fit.Diagnosis.NodeToStatus.Set(n.Node().Name, status)
			fit.Diagnosis.AddPluginStatus(status)
		default:
			return nil, status.AsError()
		}
	}
	return passed, nil
}
