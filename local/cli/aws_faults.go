package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

func (a *app) awsThrottle() *cobra.Command {
	var burst int
	cmd := a.emulatorCommand(&cobra.Command{
		Use:   "throttle OP RATE | ec2",
		Short: "Limit an operation to RATE calls per second, or all operations to EC2's documented limits",
		Example: "  karpenter-local aws throttle CreateFleet 1\n  karpenter-local aws throttle 'ec2:Describe*' 5\n" +
			"  karpenter-local aws throttle ec2",
	}, cobra.RangeArgs(1, 2), func(ctx context.Context, c control.Client, args []string) error {
		if len(args) == 1 {
			if args[0] != "ec2" {
				return usageError{fmt.Errorf("throttle needs an operation and a rate, or ec2")}
			}
			return c.ThrottleAsEC2(ctx)
		}
		rate, err := parseNumber("rate", args[1])
		if err != nil {
			return err
		}
		return c.SetThrottle(ctx, control.Throttle{Op: args[0], Rate: rate, Burst: burst})
	})
	cmd.Flags().IntVar(&burst, "burst", 0, "Size of a burst in calls (default: the calls of one second)")
	return cmd
}

func (a *app) awsFail() *cobra.Command {
	var f control.Fail
	cmd := a.emulatorCommand(&cobra.Command{
		Use:     "fail OP CODE",
		Short:   "Make an operation fail with an error code",
		Long:    "Make an operation fail with an error code, until cleared or for a number of calls.",
		Example: "  karpenter-local aws fail CreateFleet UnauthorizedOperation --times 3",
	}, cobra.ExactArgs(2), func(ctx context.Context, c control.Client, args []string) error {
		f.Op, f.Code = args[0], args[1]
		return c.Fail(ctx, f)
	})
	cmd.Flags().IntVar(&f.Times, "times", 0, "Number of failures; 0 means until cleared")
	cmd.Flags().IntVar(&f.Status, "status", 0, "HTTP status (default: the one of CODE)")
	cmd.Flags().StringVar(&f.Message, "message", "", "Error message")
	return cmd
}

func (a *app) awsHang() *cobra.Command {
	var h control.Hang
	cmd := a.emulatorCommand(&cobra.Command{
		Use:     "hang OP DURATION",
		Short:   "Delay the calls of an operation",
		Example: "  karpenter-local aws hang CreateFleet 30s",
	}, cobra.ExactArgs(2), func(ctx context.Context, c control.Client, args []string) error {
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return usageError{fmt.Errorf("%q is not a duration, use for example 30s", args[1])}
		}
		h.Op, h.For = args[0], control.Duration(d)
		return c.Hang(ctx, h)
	})
	cmd.Flags().StringVar(&h.Type, "type", "", "Only calls that name an instance type of this pattern")
	cmd.Flags().IntVar(&h.Times, "times", 0, "Number of calls; 0 means until cleared")
	cmd.Flags().BoolVar(&h.After, "after", false, "Execute the call first and delay its response")
	return cmd
}

func (a *app) awsClear() *cobra.Command {
	return a.emulatorCommand(&cobra.Command{
		Use:   "clear [OP]",
		Short: "Remove throttles, failures and delays",
		Example: "  karpenter-local aws clear\n" +
			"  karpenter-local aws clear CreateFleet",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		return c.ClearFaults(ctx, append(args, "*")[0])
	})
}

func (a *app) awsReset() *cobra.Command {
	return a.emulatorCommand(&cobra.Command{
		Use:     "reset",
		Short:   "Reset the account: no instances, no faults, no calls",
		Example: "  karpenter-local aws reset",
	}, cobra.NoArgs, func(ctx context.Context, c control.Client, _ []string) error {
		return c.Reset(ctx)
	})
}

func (a *app) awsInterrupt() *cobra.Command {
	var random int
	var cmd *cobra.Command
	cmd = a.emulatorCommand(&cobra.Command{
		Use:   "interrupt INSTANCE | --random N",
		Short: "Interrupt spot instances, with a notice of two minutes",
		Long: "Interrupt spot instances as EC2 does: send an interruption warning to the queue, and terminate the instance two\n" +
			"minutes later. Print the IDs of the instances.",
		Example: "  karpenter-local aws interrupt i-0123456789abcdef0\n" +
			"  karpenter-local aws interrupt --random 2",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		if (len(args) == 1) == (random > 0) {
			return usageError{fmt.Errorf("interrupt needs either an instance or --random N")}
		}
		ids, err := c.Interrupt(ctx, control.Interrupt{Instance: append(args, "")[0], Random: random})
		if err != nil {
			return err
		}
		for _, id := range ids {
			fmt.Fprintln(cmd.OutOrStdout(), id)
		}
		return nil
	})
	cmd.Flags().IntVar(&random, "random", 0, "Number of instances to interrupt, chosen at random")
	return cmd
}

func (a *app) awsStop() *cobra.Command {
	return a.awsSwitch(&cobra.Command{
		Use:   "stop PATTERN",
		Short: "Stop instances, as a user of the account does",
		Long: "Stop the running instances whose ID or node name matches PATTERN, apart from spot instances, which EC2 does not stop. They\n" +
			"are stopping for ten seconds, and then stopped. EC2 sends a message about each state. Print the IDs of the instances.",
		Example: "  karpenter-local aws stop i-0123456789abcdef0\n" +
			"  karpenter-local aws stop 'ip-10-0-1-*'",
	}, control.Client.Stop)
}

func (a *app) awsStart() *cobra.Command {
	return a.awsSwitch(&cobra.Command{
		Use:     "start PATTERN",
		Short:   "Start stopped instances",
		Long:    "Start the stopped instances whose ID or node name matches PATTERN. Print the IDs of the instances.",
		Example: "  karpenter-local aws start '*'",
	}, control.Client.Start)
}

// awsSwitch completes a command that stops or starts instances.
func (a *app) awsSwitch(cmd *cobra.Command, do func(c control.Client, ctx context.Context, pattern string) ([]string, error)) *cobra.Command {
	return a.emulatorCommand(cmd, cobra.ExactArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		ids, err := do(c, ctx, args[0])
		if err != nil {
			return err
		}
		for _, id := range ids {
			fmt.Fprintln(cmd.OutOrStdout(), id)
		}
		return nil
	})
}

func (a *app) awsEvent() *cobra.Command {
	var since time.Duration
	cmd := a.emulatorCommand(&cobra.Command{
		Use:   "event INSTANCE " + strings.Join(control.EventKinds(), "|"),
		Short: "Send an event about an instance to the queue, or fail its status checks",
		Example: "  karpenter-local aws event i-0123456789abcdef0 rebalance\n" +
			"  karpenter-local aws event i-0123456789abcdef0 impaired --since 3m",
	}, cobra.ExactArgs(2), func(ctx context.Context, c control.Client, args []string) error {
		return c.Event(ctx, control.Event{Instance: args[0], Kind: args[1], Since: control.Duration(since)})
	})
	cmd.Flags().DurationVar(&since, "since", 0, "Time since which the status check has failed")
	return cmd
}
