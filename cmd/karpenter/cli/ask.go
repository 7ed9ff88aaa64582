package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/live"
)

// agree prints the question to standard error and reads the answer. It returns true only for y or yes, in any case.
func agree(cmd *cobra.Command, question string) (bool, error) {
	fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// disruptNode has the flags of disrupt node.
type disruptNode struct {
	cataloguing
	solver
	yes, wait, cancel bool
	timeout           time.Duration
}

func disruptCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "disrupt",
		Short:   "Ask the controller to disrupt a node",
		Long:    "Ask the controller to disrupt a node, within disruption budgets and PodDisruptionBudgets.",
		Example: "  karpenter disrupt node ip-10-0-0-4.ec2.internal --wait",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(disruptNodeCommand())
	return c
}

func disruptNodeCommand() *cobra.Command {
	var d disruptNode
	c := &cobra.Command{
		Use:   "node NAME",
		Short: "Ask the controller to replace a node",
		Long: "Ask the controller to replace a node. The command shows what removing the node would do, requests confirmation, and\n" +
			"sets the annotation ext.karpenter.sh/disruption-requested on the NodeClaim. The controller then treats the node as\n" +
			"drifted: it launches replacements first, and respects disruption budgets, PodDisruptionBudgets and do-not-disrupt.\n" +
			"The command needs the permissions of karpenter plan, and the permissions to get and patch NodeClaims.",
		Example: "  karpenter disrupt node ip-10-0-0-4.ec2.internal\n" +
			"  karpenter disrupt node ip-10-0-0-4.ec2.internal --yes --wait   # returns when the node is deleted\n" +
			"  karpenter disrupt node ip-10-0-0-4.ec2.internal --cancel       # withdraws the request",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("disrupt node needs one name, for example: karpenter disrupt node ip-10-0-0-4.ec2.internal")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, args[0]) },
	}
	d.cataloguing.addFlags(c)
	d.solver.addFlags(c)
	f := c.Flags()
	f.BoolVarP(&d.yes, "yes", "y", false, "Do not request confirmation")
	f.BoolVar(&d.wait, "wait", false, "Wait until the node is deleted, and print what happens")
	f.BoolVar(&d.cancel, "cancel", false, "Take the request back")
	f.DurationVar(&d.timeout, "timeout", 30*time.Minute, "Longest time to wait; exit code 1 afterwards")
	return c
}

func (d *disruptNode) run(cmd *cobra.Command, name string) error {
	for _, check := range []func() error{d.cataloguing.check, d.solver.check} {
		if err := check(); err != nil {
			return err
		}
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	state, err := d.readLive(cmd, p, &d.solver)
	if err != nil {
		return err
	}
	p.pause()
	run := state.decide()
	node, ok := run.Snapshot.NodeByName(name)
	if !ok || node.Claim == nil {
		return fmt.Errorf("node %q not found, or it has no NodeClaim", name)
	}
	there, err := watchingClient(20)
	if err != nil {
		return err
	}
	if d.cancel {
		return annotateClaim(cmd.Context(), there, node.Claim.Name, apiv1.DisruptionRequestedAnnotationKey, "")
	}
	out := cmd.OutOrStdout()
	if a, ok := run.Node(run.Disrupt(d.controller.disruption(false), time.Now), name); ok && a.Reason != "" {
		fmt.Fprintln(out, "now: "+a.Reason)
	}
	style := styleOf(out)
	if _, err := io.WriteString(out, style.WhatIf(state.without(run, name))); err != nil {
		return err
	}
	if !d.yes {
		if yes, err := agree(cmd, "Disrupt node "+name+"?"); err != nil || !yes {
			return errors.Join(err, errors.New("nothing was changed"))
		}
	}
	at := time.Now().UTC().Format(time.RFC3339)
	if err := annotateClaim(cmd.Context(), there, node.Claim.Name, apiv1.DisruptionRequestedAnnotationKey, at); err != nil {
		return err
	}
	fmt.Fprintf(out, "requested; karpenter timeline --node %s shows the progress\n", name)
	if !d.wait {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), d.timeout)
	defer cancel()
	return waitGone(ctx, there, node.Claim.Name, out)
}

// annotateClaim sets the annotation of a NodeClaim, or removes it if value is empty.
func annotateClaim(ctx context.Context, c client.Client, name, key, value string) error {
	var claim apiv1.NodeClaim
	if err := c.Get(ctx, client.ObjectKey{Name: name}, &claim); err != nil {
		return fmt.Errorf("read NodeClaim %s: %w", name, err)
	}
	return act.Annotate(ctx, c, &claim, key, value)
}

// waitEvery is the interval at which a NodeClaim is read while waiting.
const waitEvery = 2 * time.Second

// waitGone prints the progress of a NodeClaim until it no longer exists. It returns an error if ctx ends first, or if
// the NodeClaim cannot be read.
func waitGone(ctx context.Context, c client.Client, name string, out io.Writer) error {
	told := ""
	for {
		var claim apiv1.NodeClaim
		err := c.Get(ctx, client.ObjectKey{Name: name}, &claim)
		switch {
		case apierrors.IsNotFound(err):
			fmt.Fprintln(out, "NodeClaim "+name+" is deleted")
			return nil
		case ctx.Err() != nil:
			return errors.New("timeout: the node still exists, and the request remains: use --cancel to take it back")
		case err != nil:
			return coded{exitUnreachable, fmt.Errorf("read NodeClaim %s: %w", name, err)}
		}
		if now := progressOf(ctx, c, &claim); now != told {
			fmt.Fprintln(out, now)
			told = now
		}
		select {
		case <-ctx.Done():
		case <-time.After(waitEvery):
		}
	}
}

// progressOf describes the progress of the disruption of a NodeClaim. If something blocks the disruption, the text
// ends with the message of the controller's last event about that.
func progressOf(ctx context.Context, c client.Reader, claim *apiv1.NodeClaim) string {
	switch {
	case !claim.DeletionTimestamp.IsZero():
		return "the node is being drained and terminated"
	case condition.IsTrue(claim, apiv1.ConditionTypeDisruptionReason):
		return "the node accepts no more pods; waiting for its replacements"
	case !condition.IsTrue(claim, apiv1.ConditionTypeDrifted):
		return "waiting for the controller to see the request"
	}
	events, err := live.Events(ctx, c, claim)
	if err == nil {
		for i := range events {
			if e := events[len(events)-1-i]; e.Reason == "DisruptionBlocked" && e.LastTimestamp.After(claim.CreationTimestamp.Time) {
				return "waiting; the last known obstacle: " + e.Message
			}
		}
	}
	return "waiting for a disruption budget"
}

func consolidateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "consolidate",
		Short:   "Ask the controller to consolidate",
		Long:    "Ask the controller to consolidate nodes.",
		Example: "  karpenter consolidate now --pool default",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(consolidateNowCommand())
	return c
}

func consolidateNowCommand() *cobra.Command {
	var pool string
	c := &cobra.Command{
		Use:   "now",
		Short: "Ask the controller to consolidate without waiting for consolidateAfter",
		Long: "Ask the controller to consolidate now. The command sets the annotation ext.karpenter.sh/consolidation-requested on\n" +
			"NodePools. For nodes without a pod event since, consolidateAfter counts as elapsed. Disruption budgets,\n" +
			"PodDisruptionBudgets, prices and do-not-disrupt are respected, and consolidateAfter: Never remains in force.\n" +
			"The command needs the permissions to list and patch NodePools.",
		Example: "  karpenter consolidate now\n" +
			"  karpenter consolidate now --pool default && karpenter timeline --follow",
		Args: noArgs,
	}
	c.Flags().StringVar(&pool, "pool", "", "Only this NodePool (default: all)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		there, err := watchingClient(20)
		if err != nil {
			return err
		}
		var pools apiv1.NodePoolList
		if err := there.List(cmd.Context(), &pools); err != nil {
			return coded{exitUnreachable, fmt.Errorf("list NodePools: %w", err)}
		}
		at, n := time.Now().UTC().Format(time.RFC3339), 0
		for i := range pools.Items {
			p := &pools.Items[i]
			if pool != "" && p.Name != pool {
				continue
			}
			if err := act.Annotate(cmd.Context(), there, p, apiv1.ConsolidationRequestedAnnotationKey, at); err != nil {
				return err
			}
			n++
		}
		if n == 0 {
			return noPool(pool)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "requested for %s; karpenter timeline --follow shows what happens\n", units.Counted(n, "NodePool"))
		return nil
	}
	return c
}

// noPool returns the error for a cluster without the NodePool, or without any if the name is empty.
func noPool(name string) error {
	if name == "" {
		return errors.New("no NodePool exists")
	}
	return fmt.Errorf("NodePool %q not found", name)
}
