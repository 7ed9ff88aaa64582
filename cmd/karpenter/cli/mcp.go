package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/report"
)

// Bounds of one result. A client passes results to a language model, whose input is limited.
const (
	// maxItems is the maximum length of a list, maxNested that of a list inside a list.
	maxItems, maxNested = 200, 10
	// maxLines is the maximum number of lines of text.
	maxLines = 100
	// defaultDecisions is how many decisions the tool "decisions" returns at most if its argument "last" is not set.
	defaultDecisions = 50
)

// toolServer has the flags of mcp. They apply to all calls of tools.
type toolServer struct {
	input
	solver
	// turn is held during a call. It has space for one value, because planning uses all cores, so calls run one after
	// another.
	turn chan struct{}
}

func mcpCommand(version operator.Version) *cobra.Command {
	s := toolServer{turn: make(chan struct{}, 1)}
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve explain, plan, cost and timeline to AI assistants (Model Context Protocol)",
		Long: "Serve explanations, plans, costs and decisions as tools of the Model Context Protocol (MCP), on standard input and\n" +
			"output. An MCP client, such as an AI assistant or an editor, starts the command and ends it.\n\n" +
			"The tools are explain_pod, explain_node, plan, cost and decisions. They return what the commands explain, plan, cost\n" +
			"and timeline print, as text and as JSON. The cluster is the one that KUBECONFIG selects; it is only read. With -f the\n" +
			"cluster consists of the manifests, as for simulate; they are read again for each call.",
		Example: "  karpenter mcp                     # the command in the configuration of an MCP client\n" +
			"  karpenter mcp -f cluster.json     # a cluster that karpenter capture has written\n" +
			"  karpenter mcp --controller-namespace karpenter",
		Args: noArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return s.serve(cmd, version)
		}),
	}
	s.input.addFlags(c)
	s.solver.addFlags(c)
	c.Flags().Lookup("filename").Usage = "File or directory of manifests; may be repeated"
	c.Flags().StringVar(&s.namespace, "controller-namespace", "", "Namespace of the controller, for decisions (default: searched)")
	return c
}

// check returns an error if the flags are invalid.
func (s *toolServer) check() error {
	if slices.Contains(s.files, manifest.Stdin) {
		return coded{exitUsage, errors.New("-f: standard input carries the protocol, use a file")}
	}
	return errors.Join(s.cataloguing.check(), s.solver.check())
}

// serve answers calls until the client closes the connection.
func (s *toolServer) serve(cmd *cobra.Command, version operator.Version) error {
	transport := &mcp.IOTransport{Reader: io.NopCloser(cmd.InOrStdin()), Writer: unclosed{cmd.OutOrStdout()}}
	if err := s.server(version).Run(cmd.Context(), transport); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// unclosed is a writer that is left open when the connection ends.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

type explainPodInput struct {
	Name      string `json:"name" jsonschema:"Name of the pod"`
	Namespace string `json:"namespace,omitempty" jsonschema:"Namespace of the pod; default if empty"`
}

type explainNodeInput struct {
	Name string `json:"name" jsonschema:"Name of the Node object"`
}

type planInput struct {
	NodePools    string             `json:"nodePools,omitempty" jsonschema:"YAML of NodePools and EC2NodeClasses, as for kubectl apply; shows what applying them would do"`
	WithoutNodes []string           `json:"withoutNodes,omitempty" jsonschema:"Names of nodes; shows what removing them would do"`
	Prices       map[string]float64 `json:"prices,omitempty" jsonschema:"Prices in USD per hour by instance type; shows what these prices would change"`
}

type costInput struct {
	By    []string `json:"by,omitempty" jsonschema:"Keys to add up by: pool, capacity-type, zone, namespace, owner, label; namespace if empty"`
	Since string   `json:"since,omitempty" jsonschema:"Also dollars of so long a time, such as 24h; all recorded time if empty. Manifests and now have no history"`
	Label string   `json:"label,omitempty" jsonschema:"Pod label for the key label"`
	Now   bool     `json:"now,omitempty" jsonschema:"Only prices per hour of the cluster as it is, without the history that the controller stores"`
}

type decisionsInput struct {
	Pool  string `json:"pool,omitempty" jsonschema:"Only decisions about nodes of this NodePool"`
	Kind  string `json:"kind,omitempty" jsonschema:"Only decisions of this kind, such as provisioning or disruption"`
	Node  string `json:"node,omitempty" jsonschema:"Only decisions about this Node or NodeClaim"`
	Since string `json:"since,omitempty" jsonschema:"Only decisions of this last period, such as 1h"`
	Last  int    `json:"last,omitempty" jsonschema:"At most this many of the newest decisions, 1 to 200; 50 if empty"`
}

// server returns the MCP server with all tools.
func (s *toolServer) server(version operator.Version) *mcp.Server {
	number := version.Number
	if number == "" {
		number = "dev"
	}
	out := mcp.NewServer(&mcp.Implementation{Name: "karpenter", Title: "Karpenter", Version: number}, &mcp.ServerOptions{
		Instructions: "Tools that read a Kubernetes cluster with Karpenter. They change nothing. Prices are in USD per hour.",
		Capabilities: &mcp.ServerCapabilities{},
	})
	addTool(s, out, "explain_pod", "Why a pod is pending, or where it would be scheduled",
		"Explains why a pod is pending: for each NodePool the obstacles, the NodePool with the fewest first, and the smallest "+
			"change that removes them. For other pods: on which node it runs or would run. Includes the controller's events about the pod.",
		s.explainPod)
	addTool(s, out, "explain_node", "Why a node is kept, and what it costs to keep it",
		"Explains what a node is, how full it is, and whether it would be disrupted now. If not: the reason, the fix, and the "+
			"unrealized savings (lostPerHour, an upper bound in USD per hour).",
		s.explainNode)
	addTool(s, out, "plan", "What the controller would do now, or after a change",
		"Without arguments: nodes that would be launched for pending pods, nodes that would be disrupted, nodes that are kept and "+
			"why, and the price. With arguments: what a change would do (new NodePools, removed nodes, other prices): drift, "+
			"launches, evictions, and the price before and after. Nothing is applied.",
		s.plan)
	addTool(s, out, "cost", "What the nodes cost, for which workloads, and why capacity is idle",
		"Allocates the price of the nodes to namespaces, workloads, NodePools or zones; idle capacity by its cause, and overhead. "+
			"The parts add up to the total.",
		s.cost)
	addTool(s, out, "decisions", "What the controller decided, why, and what became of it",
		"Lists decisions of the controller, oldest first: cause, rejected alternatives, effects and savings in USD per hour. "+
			"Kinds: "+kindNames()+".",
		s.decisions)
	return out
}

// addTool adds a tool that runs like a command without flags.
func addTool[In any](
	s *toolServer, to *mcp.Server, name, title, description string, run func(*cobra.Command, *progress, In) (answer, error),
) {
	tool := &mcp.Tool{
		Name: name, Title: title, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)},
	}
	mcp.AddTool(to, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		select {
		case s.turn <- struct{}{}:
			defer func() { <-s.turn }()
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		var warnings bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(ctx)
		cmd.SetIn(strings.NewReader(""))
		cmd.SetOut(io.Discard)
		cmd.SetErr(&warnings)
		p := newProgress(io.Discard)
		defer p.end()
		a, err := run(cmd, p, in)
		if err != nil {
			return nil, nil, s.toolError(err)
		}
		return toolResult(a, warnings.String())
	})
}

// argumentNames replace the names of flags in errors by those of arguments.
var argumentNames = strings.NewReplacer(
	"--with-price: ", "prices: ", "--without-node: ", "withoutNodes: ", "-f: ", "nodePools: ", "stdin: ", "nodePools: ",
	"--by: ", "by: ", "--since: ", "since: ", "--kind: ", "kind: ", "--last and --since", "last and since", "manifests and --now", "manifests and now",
	"use -n for another namespace", "give its namespace with the argument namespace",
)

// toolError returns the error of a call with advice for the caller of the tool.
func (s *toolServer) toolError(err error) error {
	text := argumentNames.Replace(err.Error())
	if codeOf(err) == exitUnreachable && len(s.files) == 0 {
		text += " (karpenter mcp reads the cluster of the KUBECONFIG in its own environment, or manifests: karpenter mcp -f FILE)"
	}
	return errors.New(text)
}

// toolResult returns an answer with its warnings as text, and as JSON.
func toolResult(a answer, warnings string) (*mcp.CallToolResult, any, error) {
	value, omitted, err := bounded(a.value)
	if err != nil {
		return nil, nil, err
	}
	text := firstLines(a.text(report.Style{})) + warnings
	for _, o := range omitted {
		text += "omitted from the JSON: " + o + "\n"
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}, &mcp.TextContent{Text: string(value)}}}, value, nil
}

// firstLines returns the text. If it has more than maxLines lines, a line with the number of omitted lines replaces the rest.
func firstLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if more := len(lines) - maxLines; more > 1 { // the last element of lines is empty
		return strings.Join(lines[:maxLines], "") + fmt.Sprintf("... and %d more lines\n", more-1)
	}
	return text
}

// bounded returns v as JSON whose lists are not longer than maxItems and maxNested. omitted describes how many items of
// which lists were left out.
func bounded(v any) (value json.RawMessage, omitted []string, err error) {
	var whole bytes.Buffer
	if err := printJSON(&whole, v); err != nil {
		return nil, nil, fmt.Errorf("encode result: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(whole.Bytes()))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, nil, fmt.Errorf("decode result: %w", err)
	}
	left := map[string]int{}
	tree = cut(tree, "", maxItems, left)
	if len(left) == 0 {
		return bytes.TrimSpace(whole.Bytes()), nil, nil
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		omitted = append(omitted, fmt.Sprintf("%d of %s", left[path], path))
	}
	whole.Reset()
	if err := printJSON(&whole, tree); err != nil {
		return nil, nil, fmt.Errorf("encode result: %w", err)
	}
	return bytes.TrimSpace(whole.Bytes()), omitted, nil
}

// cut returns a JSON value without the items that exceed the bounds. limit is the bound for a list that is not inside
// a list. cut adds the number of omitted items to left, by path, and may change v.
func cut(v any, path string, limit int, left map[string]int) any {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = cut(field, strings.TrimPrefix(path+"."+key, "."), limit, left)
		}
	case []any:
		if more := len(v) - limit; more > 0 {
			left[path] += more
			v = v[:limit]
		}
		for i := range v {
			v[i] = cut(v[i], path, maxNested, left)
		}
		return v
	}
	return v
}

func (s *toolServer) explainPod(cmd *cobra.Command, p *progress, in explainPodInput) (answer, error) {
	x := explanation{input: s.input, solver: s.solver, namespace: in.Namespace}
	if x.namespace == "" {
		x.namespace = "default"
	}
	return x.answer(cmd, p, "pod", in.Name)
}

func (s *toolServer) explainNode(cmd *cobra.Command, p *progress, in explainNodeInput) (answer, error) {
	x := explanation{input: s.input, solver: s.solver}
	return x.answer(cmd, p, "node", in.Name)
}

func (s *toolServer) plan(cmd *cobra.Command, p *progress, in planInput) (answer, error) {
	x := planning{input: s.input, solver: s.solver}
	if in.NodePools != "" {
		x.change.files = []string{manifest.Stdin}
		cmd.SetIn(strings.NewReader(in.NodePools))
	}
	x.change.without = in.WithoutNodes
	for _, name := range slices.Sorted(maps.Keys(in.Prices)) {
		x.change.prices = append(x.change.prices, fmt.Sprintf("%s=%g", name, in.Prices[name]))
	}
	if err := x.change.check(); err != nil {
		return answer{}, err
	}
	return x.answer(cmd, p)
}

func (s *toolServer) cost(cmd *cobra.Command, p *progress, in costInput) (answer, error) {
	x := costing{input: s.input, solver: s.solver, by: strings.Join(in.By, ","), label: in.Label, output: "json", now: in.Now}
	if x.by == "" {
		x.by = "namespace"
	}
	var err error
	if x.since, err = periodOf(in.Since); err != nil {
		return answer{}, err
	}
	fields, err := x.check()
	if err != nil {
		return answer{}, err
	}
	r, err := x.report(cmd, p, fields)
	return answer{r, func(s report.Style) string { return s.Cost(r, false) }}, err
}

// episodeList are decisions as one JSON value. The command timeline prints one per line.
type episodeList struct {
	Decisions []decisions.Episode `json:"decisions"`
}

func (s *toolServer) decisions(cmd *cobra.Command, _ *progress, in decisionsInput) (answer, error) {
	if len(s.files) > 0 {
		return answer{}, errors.New("manifests have no decisions: start karpenter mcp without -f, with the KUBECONFIG of a cluster")
	}
	t := timeline{pool: in.Pool, kind: in.Kind, node: in.Node, last: in.Last, output: asText, told: map[string]shown{}}
	if t.last == 0 {
		t.last = defaultDecisions
	}
	if t.last > maxItems {
		return answer{}, fmt.Errorf("last: %d is out of range 1 to %d", t.last, maxItems)
	}
	var err error
	if t.since, err = periodOf(in.Since); err != nil {
		return answer{}, err
	}
	if err := t.check(); err != nil {
		return answer{}, err
	}
	there, err := watchingClient(100)
	if err != nil {
		return answer{}, err
	}
	all, _, err := live.Decisions(cmd.Context(), there, s.namespace)
	switch {
	case errors.Is(err, live.ErrNoDecisions):
		return answer{}, fmt.Errorf("%w (karpenter mcp --controller-namespace NAMESPACE names one)", err)
	case err != nil:
		return answer{}, coded{exitUnreachable, err}
	}
	chosen := t.chosen(all)
	if chosen == nil {
		chosen = []decisions.Episode{}
	}
	return answer{episodeList{chosen}, func(style report.Style) string {
		text := style.TimelineHead(columnsOf(io.Discard))
		for _, e := range chosen {
			text += style.Episode(e, columnsOf(io.Discard), false)
		}
		return text
	}}, nil
}

// periodOf parses the argument since; empty means no limit.
func periodOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("since: %q is not a duration, use for example 90m or 24h", text)
	}
	return d, nil
}
