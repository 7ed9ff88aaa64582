package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/operator"
)

// connect runs karpenter mcp and returns a client of it. At the end of the test the client closes the connection, and the
// command must end without an error.
func connect(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := mcpCommand(operator.Version{Number: "1.2.3"})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetIn(in)
	c.SetOut(out)
	c.SetErr(io.Discard)
	c.SetArgs(args)
	ended := make(chan error, 1)
	go func() {
		ended <- c.ExecuteContext(t.Context())
		out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
		if err := <-ended; err != nil && t.Context().Err() == nil {
			t.Errorf("karpenter mcp: %v", err)
		}
	})
	return session
}

// manifests writes the files of the script explain, and returns their names.
func manifests(t *testing.T) (cluster, types string) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/script/explain.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range a.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "types.json")
}

// result is the result of a tool: a text, and JSON, which is equal to the structured content.
type result struct {
	text, json string
	failed     bool
}

func call(t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any) result {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	out := result{failed: r.IsError}
	for i, c := range r.Content {
		text := c.(*mcp.TextContent).Text
		if i == 0 {
			out.text = text
		} else {
			out.json += text
		}
	}
	if r.IsError {
		return out
	}
	var fromText any
	if err := json.Unmarshal([]byte(out.json), &fromText); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, out.json)
	}
	if diff := cmp.Diff(fromText, r.StructuredContent); diff != "" {
		t.Errorf("%s: JSON as text and structured content differ:\n%s", tool, diff)
	}
	return out
}

// The tools are listed as read-only, and each argument has a description.
func TestMCPTools(t *testing.T) {
	cluster, types := manifests(t)
	s := connect(t, "-f", cluster, "--catalog", types)
	if got := s.InitializeResult().ServerInfo; got.Name != "karpenter" || got.Version != "1.2.3" {
		t.Errorf("server is %+v", got)
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s has no description, or is not read-only", tool.Name)
		}
		properties, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		if len(properties) == 0 {
			t.Errorf("%s has no arguments: %v", tool.Name, tool.InputSchema)
		}
		for name, p := range properties {
			if p.(map[string]any)["description"] == nil {
				t.Errorf("%s: argument %s has no description", tool.Name, name)
			}
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"cost", "decisions", "explain_node", "explain_pod", "plan"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// Each tool returns the same JSON as the command.
func TestMCPReturnsWhatCommandsPrint(t *testing.T) {
	cluster, types := manifests(t)
	s := connect(t, "-f", cluster, "--catalog", types)
	flags := []string{"-f", cluster, "--catalog", types, "-o", "json"}
	pod, _, err := run(t, explainCommand(), append(flags, "pod", "big", "-n", "shop")...)
	if err != nil {
		t.Fatal(err)
	}
	got := call(t, s, "explain_pod", map[string]any{"name": "big", "namespace": "shop"})
	if diff := cmp.Diff(strings.TrimSpace(pod), got.json); diff != "" || !strings.Contains(got.text, "fix: request at most 4 cpu") {
		t.Errorf("explain_pod (-want +got):\n%s\n%s", diff, got.text)
	}
	node, _, err := run(t, explainCommand(), append(flags, "node", "n1")...)
	if err != nil {
		t.Fatal(err)
	}
	got = call(t, s, "explain_node", map[string]any{"name": "n1"})
	if diff := cmp.Diff(strings.TrimSpace(node), got.json); diff != "" || !strings.Contains(got.text, "do-not-disrupt") {
		t.Errorf("explain_node (-want +got):\n%s\n%s", diff, got.text)
	}
	costs, _, err := run(t, costCommand(), append(flags, "--by", "pool,namespace")...)
	if err != nil {
		t.Fatal(err)
	}
	got = call(t, s, "cost", map[string]any{"by": []string{"pool", "namespace"}})
	if diff := cmp.Diff(timeless(costs), timeless(got.json)); diff != "" || !strings.Contains(got.text, "price of 1 node $0.1000/h") {
		t.Errorf("cost (-want +got):\n%s\n%s", diff, got.text)
	}
	var plan struct {
		Pods, Placed  int
		Nodes         []struct{ InstanceType string }
		Unschedulable []struct{ Pod string }
		Blocked       []struct{ Node string }
	}
	got = call(t, s, "plan", nil)
	if err := json.Unmarshal([]byte(got.json), &plan); err != nil {
		t.Fatal(err)
	}
	if plan.Placed != 1 || len(plan.Nodes) != 1 || len(plan.Unschedulable) != 1 || len(plan.Blocked) != 1 || !strings.Contains(got.text, "m.large") {
		t.Errorf("plan: %+v\n%s", plan, got.text)
	}
}

// timeless returns costs without the times at which they were computed.
func timeless(costs string) string {
	return regexp.MustCompile(`"(since|until)":"[^"]*",`).ReplaceAllString(strings.TrimSpace(costs), "")
}

// A change is planned and not applied: without the node, its pod needs another one.
func TestMCPPlansChanges(t *testing.T) {
	cluster, types := manifests(t)
	s := connect(t, "-f", cluster, "--catalog", types)
	type change struct {
		DollarsPerHourBefore, DollarsPerHourAfter float64
		TypesLost                                 []string
		Evictions                                 int
	}
	plan := func(arguments map[string]any) (c change) {
		t.Helper()
		got := call(t, s, "plan", arguments)
		if err := json.Unmarshal([]byte(got.json), &c); err != nil || got.text == "" {
			t.Fatalf("%v: %s", err, got.json)
		}
		return c
	}
	if got := plan(map[string]any{"withoutNodes": []string{"n1"}}); got.Evictions != 1 {
		t.Errorf("without n1: %+v, want one eviction", got)
	}
	if got := plan(map[string]any{"prices": map[string]any{"m.large": 0.4}}); got.DollarsPerHourAfter <= got.DollarsPerHourBefore {
		t.Errorf("with a higher price: %+v", got)
	}
	pool := "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {template: {spec: {" +
		"nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}," +
		"requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}}}}"
	if got := plan(map[string]any{"nodePools": pool}); got.DollarsPerHourAfter > got.DollarsPerHourBefore {
		t.Errorf("with a NodePool of spot: %+v", got)
	}
	if a, b := plan(map[string]any{"withoutNodes": []string{"n1"}}), plan(map[string]any{"withoutNodes": []string{"n1"}}); !cmp.Equal(a, b) {
		t.Errorf("the same change differs after others: %+v, %+v", a, b)
	}
}

// If a request cannot be answered, the tool returns an error that names the next step.
func TestMCPErrors(t *testing.T) {
	cluster, types := manifests(t)
	s := connect(t, "-f", cluster, "--catalog", types)
	for _, test := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"explain_pod", map[string]any{"name": "nobody"}, `pod "default/nobody" not found (give its namespace with the argument namespace)`},
		{"explain_pod", map[string]any{}, `name`},
		{"explain_pod", map[string]any{"pod": "web", "name": "web"}, `"pod"`},
		{"explain_node", map[string]any{"name": "nix"}, `node "nix" not found`},
		{"plan", map[string]any{"withoutNodes": []string{"nix"}}, `withoutNodes: node "nix" not found`},
		{"plan", map[string]any{"prices": map[string]any{"m.large": -1}}, `prices: "m.large=-1" is not TYPE=PRICE`},
		{"plan", map[string]any{"prices": map[string]any{"m.lage": 1}}, `prices: no NodePool has an offering of instance type "m.lage"`},
		{"plan", map[string]any{"nodePools": "{apiVersion: v1, kind: Pod, metadata: {name: a}}"}, `nodePools: no NodePool or EC2NodeClass found`},
		{"plan", map[string]any{"nodePools": "{"}, `nodePools`},
		{"cost", map[string]any{"by": []string{"node"}}, `by: unknown key "node", use pool, capacity-type`},
		{"cost", map[string]any{"since": "yesterday"}, `since: "yesterday" is not a duration, use for example 90m or 24h`},
		{"cost", map[string]any{"since": "1h"}, `since: manifests and now have no history`},
		{"decisions", nil, `manifests have no decisions: start karpenter mcp without -f`},
	} {
		got := call(t, s, test.tool, test.arguments)
		if !got.failed || !strings.Contains(got.text, test.want) {
			t.Errorf("%s %v: failed %t, text %q, want %q", test.tool, test.arguments, got.failed, got.text, test.want)
		}
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete_node"}); err == nil || !strings.Contains(err.Error(), "delete_node") {
		t.Errorf("a tool that does not exist: %v", err)
	}
}

// The tools read the cluster of KUBECONFIG, with the controller's events. Objects that could not be read are named in a warning
// in the text.
func TestMCPReadsTheCluster(t *testing.T) {
	serveCluster(t, told())
	s := connect(t)
	got := call(t, s, "explain_pod", map[string]any{"name": "web", "namespace": "shop"})
	if !strings.Contains(got.text, "runs on node n2") || strings.Count(got.json, `"reason":"Nominated"`) != 2 {
		t.Errorf("explain_pod: %+v", got)
	}
	want, stderr, err := run(t, planCommand())
	if err != nil || want == "" || stderr != "" {
		t.Fatalf("plan: %v, %q, %q", err, want, stderr)
	}
	if got := call(t, s, "plan", nil); got.text != want {
		t.Errorf("plan: the tool returns\n%s\nthe command prints\n%s", got.text, want)
	}
	serveCluster(t, nil)
	got = call(t, s, "explain_pod", map[string]any{"name": "web", "namespace": "shop"})
	if got.failed || !strings.Contains(got.text, "warning: the events of the pod are omitted") {
		t.Errorf("without the right to list events: %+v", got)
	}
}

// Without a cluster, the error says which settings are missing.
func TestMCPWithoutCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	s := connect(t)
	for _, tool := range []string{"plan", "cost", "decisions"} {
		if got := call(t, s, tool, nil); !got.failed || !strings.Contains(got.text, "set KUBECONFIG") || !strings.Contains(got.text, "karpenter mcp -f FILE") {
			t.Errorf("%s: failed %t, text %q", tool, got.failed, got.text)
		}
	}
}

// Decisions are filtered. Of too many decisions, the newest ones are returned.
func TestMCPDecisions(t *testing.T) {
	var lines []string
	for i, kind := range []decisions.Kind{decisions.KindProvisioning, decisions.KindDisruption, decisions.KindProvisioning} {
		line, err := json.Marshal(decisions.Episode{ID: fmt.Sprint("e", i), Kind: kind, Pools: []string{"default"}, Decision: fmt.Sprint("decision ", i)})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	serveDecisions(t, strings.Join(lines, "\n")+"\n")
	s := connect(t, "--controller-namespace", "karpenter")
	ids := func(arguments map[string]any) (ids []string) {
		t.Helper()
		got := call(t, s, "decisions", arguments)
		var list struct {
			Decisions []struct{ ID, Decision string }
		}
		if err := json.Unmarshal([]byte(got.json), &list); err != nil || list.Decisions == nil {
			t.Fatalf("%v: %+v", err, got)
		}
		for _, d := range list.Decisions {
			ids = append(ids, d.ID)
			if !strings.Contains(got.text, d.Decision) {
				t.Errorf("the text has no %q:\n%s", d.Decision, got.text)
			}
		}
		return ids
	}
	for _, test := range []struct {
		arguments map[string]any
		want      []string
	}{
		{nil, []string{"e0", "e1", "e2"}},
		{map[string]any{"last": 1}, []string{"e2"}},
		{map[string]any{"kind": "provisioning", "pool": "default"}, []string{"e0", "e2"}},
		{map[string]any{"pool": "other"}, nil},
		{map[string]any{"since": "1h"}, nil},
	} {
		if diff := cmp.Diff(test.want, ids(test.arguments)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.arguments, diff)
		}
	}
	for name, arguments := range map[string]map[string]any{
		"unknown kind \"weather\", use one of": {"kind": "weather"}, "last: 201 is out of range 1 to 200": {"last": 201},
	} {
		if got := call(t, s, "decisions", arguments); !got.failed || !strings.Contains(got.text, name) {
			t.Errorf("%v: %+v, want %q", arguments, got, name)
		}
	}
}

// serveDecisions points KUBECONFIG at a cluster that has published decisions and nothing else.
func serveDecisions(t *testing.T, episodes string) {
	t.Helper()
	answers := map[string]any{
		"/api":  &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/apis": &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}},
		"/api/v1": &metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: "v1",
			APIResources: []metav1.APIResource{{Name: "configmaps", SingularName: "configmap", Kind: "ConfigMap", Namespaced: true, Verbs: []string{"get"}}},
		},
		"/api/v1/namespaces/karpenter/configmaps/" + decisions.MapName: &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: decisions.MapName, Namespace: "karpenter"}, Data: map[string]string{decisions.MapKey: episodes},
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfigOf(t, server.URL)
}

// Long lists are shortened, and the text says how many items are left out.
func TestMCPResultsAreBounded(t *testing.T) {
	short, omitted, err := bounded(map[string]any{"b": []int{1, 2}, "a": "<"})
	if err != nil || len(omitted) > 0 || string(short) != `{"a":"<","b":[1,2]}` {
		t.Errorf("a short value: %s, %v, %v", short, omitted, err)
	}
	type node struct {
		Pods []int `json:"pods"`
	}
	nodes := make([]node, maxItems+7)
	nodes[0].Pods, nodes[1].Pods = make([]int, maxNested+2), make([]int, maxNested+1)
	value, omitted, err := bounded(map[string]any{"nodes": nodes})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"7 of nodes", "3 of nodes.pods"}, omitted); diff != "" {
		t.Errorf("omitted (-want +got):\n%s", diff)
	}
	var got struct{ Nodes []node }
	if err := json.Unmarshal(value, &got); err != nil || len(got.Nodes) != maxItems || len(got.Nodes[0].Pods) != maxNested {
		t.Errorf("%v: %d nodes, %d pods", err, len(got.Nodes), len(got.Nodes[0].Pods))
	}
	if got := firstLines(strings.Repeat("a\n", maxLines+5)); strings.Count(got, "a\n") != maxLines || !strings.HasSuffix(got, "... and 5 more lines\n") {
		t.Errorf("a long text: %q", got)
	}
	if text := strings.Repeat("a\n", maxLines); firstLines(text) != text {
		t.Error("a text of the maximum length is cut")
	}
}

// Standard input carries the protocol, so manifests cannot be read from it.
func TestMCPReadsNoManifestsFromStdin(t *testing.T) {
	_, _, err := run(t, mcpCommand(operator.Version{}), "-f", "-")
	if codeOf(err) != exitUsage || !strings.Contains(err.Error(), "standard input carries the protocol") {
		t.Errorf("error is %v", err)
	}
}
