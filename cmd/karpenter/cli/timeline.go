package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/report"
)

const asWide output = "wide"

// timeline has the flags of the command timeline, and what it has printed.
type timeline struct {
	pool, kind, node, namespace string
	follow                      bool
	since                       time.Duration
	last                        int
	output                      output

	// told is the part of each episode that is already printed, by episode ID. An episode is a published decision with its
	// effects.
	told map[string]shown
}

// shown is the part of an episode that is already printed: the number of effects, and the state.
type shown struct {
	effects int
	state   decisions.State
}

func timelineCommand() *cobra.Command {
	var t timeline
	c := &cobra.Command{
		Use:   "timeline",
		Short: "Show what the controller decided, why, and what became of it",
		Long: "Show what the controller decided, why, and what became of it, oldest first.\n\n" +
			"The controller publishes its newest decisions in the ConfigMap karpenter-decisions of its namespace. This command needs\n" +
			"the right to get it, and with --follow to watch it. Times are UTC. SAVES is the price of all nodes before the\n" +
			"decision less that afterwards, so launches have a negative value.",
		Example: "  karpenter timeline\n" +
			"  karpenter timeline --follow --pool default\n" +
			"  karpenter timeline --kind disruption --since 1h -o wide   # with causes, alternatives and effects\n" +
			"  karpenter timeline -o json | jq 'select(.state == \"cancelled\")'",
		Args: noArgs,
	}
	f := c.Flags()
	f.StringVar(&t.pool, "pool", "", "Only decisions about nodes of this NodePool")
	f.StringVar(&t.kind, "kind", "", "Only decisions of this kind: "+kindNames())
	f.StringVar(&t.node, "node", "", "Only decisions about this node or NodeClaim")
	f.StringVar(&t.namespace, "controller-namespace", "", "Namespace of the controller (default: searched)")
	f.BoolVarP(&t.follow, "follow", "w", false, "Wait for new decisions and effects until interrupted")
	f.DurationVar(&t.since, "since", 0, "Only decisions of this last period, for example 1h")
	f.IntVar(&t.last, "last", 100, "At most this many of the newest decisions; 0 means all, which is the default with --since")
	t.output = asText
	f.StringVarP((*string)(&t.output), "output", "o", string(asText), "Output format: text, wide, json (one object per line) or yaml (one document per decision)")
	c.RunE = func(cmd *cobra.Command, _ []string) error { return t.run(cmd) }
	return c
}

func kindNames() string {
	var names []string
	for _, k := range decisions.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func (t *timeline) check() error {
	if t.output != asText && !t.output.encoded() && t.output != asWide {
		return coded{exitUsage, fmt.Errorf("--output: unknown format %q, use text, wide, json or yaml", string(t.output))}
	}
	if t.kind != "" && !slices.Contains(decisions.Kinds(), decisions.Kind(t.kind)) {
		return coded{exitUsage, fmt.Errorf("--kind: unknown kind %q, use one of %s", t.kind, kindNames())}
	}
	if t.last < 0 || t.since < 0 {
		return coded{exitUsage, errors.New("--last and --since must not be negative")}
	}
	return nil
}

func (t *timeline) run(cmd *cobra.Command) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.since > 0 && !cmd.Flags().Changed("last") {
		t.last = 0 // the user has chosen the period
	}
	there, err := watchingClient(100)
	if err != nil {
		return err
	}
	episodes, namespace, err := live.Decisions(cmd.Context(), there, t.namespace)
	waits := t.follow && errors.Is(err, live.ErrNoDecisions)
	switch {
	case errors.Is(err, live.ErrNoDecisions) && !t.follow:
		return err
	case waits && t.namespace == "":
		return fmt.Errorf("%w; give it with --controller-namespace", err)
	case waits:
		namespace = t.namespace
	case err != nil:
		return coded{exitUnreachable, err}
	}
	t.told = map[string]shown{}
	out := cmd.OutOrStdout()
	if t.output == asText || t.output == asWide {
		if _, err := io.WriteString(out, styleOf(out).TimelineHead(columnsOf(out))); err != nil {
			return err
		}
	}
	if err := t.print(out, t.chosen(episodes)); err != nil || !t.follow {
		return err
	}
	return t.watch(cmd.Context(), there, namespace, out)
}

// watch prints new episodes and changes of episodes, until ctx ends.
func (t *timeline) watch(ctx context.Context, there client.WithWatch, namespace string, out io.Writer) error {
	err := live.FollowDecisions(ctx, there, namespace, func(episodes []decisions.Episode) error {
		return t.print(out, t.matching(episodes))
	})
	if err != nil {
		return coded{exitUnreachable, err}
	}
	return nil
}

// matching returns the episodes that the filters select.
func (t *timeline) matching(all []decisions.Episode) []decisions.Episode {
	return slices.DeleteFunc(slices.Clone(all), func(e decisions.Episode) bool {
		return t.pool != "" && !slices.Contains(e.Pools, t.pool) || t.kind != "" && string(e.Kind) != t.kind ||
			t.node != "" && !e.Concerns(t.node)
	})
}

// chosen returns the episodes to print first. It marks older episodes as printed, so that only their later changes are
// printed.
func (t *timeline) chosen(all []decisions.Episode) []decisions.Episode {
	list := t.matching(all)
	from := 0
	if t.since > 0 {
		begin := time.Now().Add(-t.since)
		for from < len(list) && list[from].Time.Before(begin) {
			from++
		}
	}
	if t.last > 0 {
		from = max(from, len(list)-t.last)
	}
	for _, e := range list[:from] {
		t.told[e.ID] = shown{e.EffectsTotal, e.State}
	}
	return list[from:]
}

// print writes new episodes, new effects of known ones, and again each episode whose state has changed. As JSON or YAML, an
// episode with a new effect is written again as a whole.
func (t *timeline) print(out io.Writer, list []decisions.Episode) error {
	style, columns := styleOf(out), columnsOf(out)
	for _, e := range list {
		before, known := t.told[e.ID]
		now := shown{e.EffectsTotal, e.State}
		t.told[e.ID] = now
		if known && before == now {
			continue
		}
		if err := t.printOne(out, style, columns, e, before, known); err != nil {
			return err
		}
	}
	return nil
}

func (t *timeline) printOne(out io.Writer, style report.Style, columns int, e decisions.Episode, before shown, known bool) error {
	if t.output.encoded() {
		return t.output.encode(out, e)
	}
	if !known {
		_, err := io.WriteString(out, style.Episode(e, columns, t.output == asWide))
		return err
	}
	fresh := min(e.EffectsTotal-before.effects, len(e.Effects))
	for _, f := range e.Effects[len(e.Effects)-fresh:] {
		if _, err := fmt.Fprintln(out, "  "+style.Effect(f)); err != nil {
			return err
		}
	}
	if e.State == before.state {
		return nil
	}
	_, err := io.WriteString(out, style.Episode(e, columns, false))
	return err
}

// defaultColumns is the width of a terminal that does not report its width.
const defaultColumns = 80

// columnsOf returns the width of the terminal w. If w is not a terminal, it returns a very large number, so that lines
// are not cut.
func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok && isTerminal(w) {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
		return defaultColumns
	}
	return 1 << 20
}
