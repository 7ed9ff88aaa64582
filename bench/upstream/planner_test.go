package upstream

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/backtest"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// TestMain runs the test binary as the program that a Planner asks, if it is started with -serve.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-serve" {
		serve()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve plans a node for each pending pod, and removes empty nodes, one at a time. If a pod is called "broken", it answers
// with an error. claims is true for nodes that it must not remove.
func serve() {
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	pods, claims := map[string]*corev1.Pod{}, map[string]bool{}
	for {
		var r request
		if in.Decode(&r) != nil {
			return
		}
		for _, p := range r.Pods {
			pods[p.Namespace+"/"+p.Name] = p
		}
		for _, key := range r.GonePods {
			delete(pods, key)
		}
		for _, c := range r.Claims {
			disrupted := len(c.Annotations) > 0
			claims[c.Name] = disrupted || !condition.IsTrue(c, apiv1.ConditionTypeInitialized)
		}
		for _, name := range r.GoneClaims {
			delete(claims, name)
		}
		_ = out.Encode(decide(&r, pods, claims)) // the Planner reports a lost answer
	}
}

func decide(r *request, pods map[string]*corev1.Pod, claims map[string]bool) answer {
	var a answer
	used := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		p := pods[key]
		if p.Spec.NodeName != "" {
			used[p.Spec.NodeName] = true
			continue
		}
		if p.Labels["app"] == "broken" {
			a.Error = "the pod is broken"
		}
		requests := maps.Clone(p.Spec.Containers[0].Resources.Requests)
		requests[corev1.ResourcePods] = resource.MustParse("1")
		a.Nodes = append(a.Nodes, node{Pool: "default", Options: []string{"large", "small"}, Requests: requests, Pods: []string{key}})
	}
	if r.Do == "plan" {
		return a
	}
	a = answer{}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if !claims[name] && !used[name] && len(a.Commands) == 0 {
			a.Commands = append(a.Commands, command{Reason: "Empty", Claims: []string{name}})
		}
	}
	return a
}

const types = `[
 {"name":"small","arch":"amd64","allocatable":{"cpu":"2","memory":"8Gi","pods":"20"},"offerings":[{"zone":"a","capacityType":"on-demand","price":0.10}]},
 {"name":"large","arch":"amd64","allocatable":{"cpu":"8","memory":"32Gi","pods":"80"},"offerings":[{"zone":"a","capacityType":"on-demand","price":0.36}]}]`

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: [], expireAfter: %AFTER%}}
  disruption: {consolidateAfter: 5m, budgets: [{nodes: 100%}]}
`

// replay replays two hours of the trace with the decisions of the program.
func replay(t *testing.T, csv, expireAfter string, commands int) (backtest.Result, error) {
	t.Helper()
	set, err := manifest.Read(t.Context(), []string{manifest.Stdin},
		manifest.Options{Stdin: strings.NewReader(strings.ReplaceAll(pool, "%AFTER%", expireAfter))})
	if err != nil {
		t.Fatal(err)
	}
	known, err := offline.ReadCatalogue("types.json", []byte(types))
	if err != nil {
		t.Fatal(err)
	}
	c, err := offline.Assemble(set, known, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	policy, _ := backtest.NewPolicy("upstream", c, pack.Options{}, disrupt.Options{})
	policy.Planner = func() (backtest.Planner, error) {
		p, err := Start(os.Args[0], commands)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = p.Close() })
		return p, nil
	}
	trace, err := backtest.Read("trace.csv", strings.NewReader("name,app,cpu,memory,creation,deletion\n"+csv), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Cut(time.Unix(0, 0), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	return backtest.Replay(trace, policy, backtest.DefaultSettings(), nil)
}

// The replay carries out the program's plans and commands: each pod gets a node of the cheapest option, and the two empty
// nodes are removed, as many at one time as the number of commands allows.
func TestReplay(t *testing.T) {
	csv := "a,web,1500m,1Gi,0,\nb,web,1500m,1Gi,600,1000\nc,web,1500m,1Gi,600,1000\n"
	for _, tt := range []struct {
		commands int
		dollars  float64
	}{
		{1, 0.2 + 0.10*(600+1200)/3600}, // decisions at 1200 s and 1800 s
		{5, 0.2 + 0.10*(600+600)/3600},  // both at 1200 s
	} {
		r, err := replay(t, csv, "Never", tt.commands)
		if err != nil {
			t.Fatal(err)
		}
		if diff := r.Dollars - tt.dollars; diff > 0.001 || diff < -0.001 || r.Launched != 3 || r.Disrupted != 2 || r.Unbound != 0 || r.Evictions != 0 {
			t.Errorf("%d commands: %+v, want $%v", tt.commands, r, tt.dollars)
		}
	}
}

// Nodes expire as their NodePool says.
func TestReplayExpiry(t *testing.T) {
	r, err := replay(t, "a,web,1500m,1Gi,0,\nb,web,1500m,1Gi,600,\n", "1h", 5)
	if err != nil {
		t.Fatal(err)
	}
	if r.Launched != 4 || r.Evictions != 2 || r.Unbound != 0 {
		t.Errorf("%+v, want two nodes that expire and two that follow", r)
	}
}

// An error of the program ends the replay.
func TestReplayError(t *testing.T) {
	if _, err := replay(t, "a,broken,1,1Gi,60,\n", "Never", 1); err == nil || err.Error() != "upstream: the pod is broken" {
		t.Errorf("%v, want the program's error", err)
	}
	if _, err := Start("/does/not/exist", 1); err == nil {
		t.Error("a program that does not exist was started")
	}
}
